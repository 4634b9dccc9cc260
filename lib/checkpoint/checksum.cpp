// SPDX-License-Identifier: Apache-2.0
// The only user of zlib in the library.
#include "checkpoint/checksum.h"

#include <zlib.h>

namespace mdist {

uint32_t crc32_of(const void *bytes, std::size_t count, uint32_t before) {
    if (count == 0) return before; // for NULL, zlib would return its initial value
    return static_cast<uint32_t>(::crc32_z(before, static_cast<const Bytef *>(bytes), count));
}

} // namespace mdist
