// SPDX-License-Identifier: Apache-2.0
#include "cuda/copy_plan.h"

#include <algorithm>

namespace mdist::cuda {

CopyItem copy_item(const mdist_gpu_stretch &stretch) {
    const auto to = reinterpret_cast<uintptr_t>(stretch.to);
    const auto from = reinterpret_cast<uintptr_t>(stretch.from);
    uintptr_t word = kPacketBytes;
    while ((to - from) % word != 0) word /= 2;
    const uint64_t head = std::min<uint64_t>((word - to % word) % word, stretch.bytes);
    return {static_cast<char *>(stretch.to),
            static_cast<const char *>(stretch.from),
            stretch.bytes,
            0,
            static_cast<uint16_t>(head),
            static_cast<uint16_t>(word)};
}

} // namespace mdist::cuda
