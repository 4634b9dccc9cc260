// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/upload.h"

#include "device/gpu/immediate.h"
#include "util/round_up.h"

#include <cstring>

namespace mdist {
namespace {

constexpr std::size_t kAlignment = 256;

/// Where each tensor begins, and where the last one ends.
std::vector<std::size_t> offsets_of(const std::vector<Tensor> &tensors) {
    std::vector<std::size_t> offsets = {0};
    for (const Tensor &tensor : tensors) offsets.push_back(offsets.back() + round_up(tensor.bytes(), kAlignment));
    return offsets;
}

} // namespace

std::vector<Tensor> Upload::copies_of(const std::vector<Tensor> &tensors) {
    const std::vector<std::size_t> offsets = offsets_of(tensors);
    const std::size_t bytes = offsets.back();
    if (bytes > staging_bytes_) {
        staging_ = allocate_pinned(bytes);
        staging_bytes_ = bytes;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].bytes() != 0)
            std::memcpy(static_cast<char *>(staging_.get()) + offsets[i], tensors[i].data(), tensors[i].bytes());
    if (!stream_) stream_ = std::make_shared<ReplicaStream>(physical_);
    const Memory memory = physical_.allocate(bytes, stream_); // the stream: a copy that fails may still be under way
    if (bytes != 0) {
        mdist_gpu_stream *const on = stream_->get();
        physical_.check(physical_.api().copy(physical_.index(), memory.get(), staging_.get(), bytes, on),
                        "copying an element");
        finish_on(physical_, on, physical_.patience(), "copying an element");
    }
    std::vector<Tensor> copies;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        copies.push_back(Tensor::view(static_cast<char *>(memory.get()) + offsets[i], tensors[i].dtype(),
                                      tensors[i].shape(), memory, {MDIST_DEVICE_GPU, physical_.index()}));
    return copies;
}

} // namespace mdist
