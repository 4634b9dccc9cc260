// SPDX-License-Identifier: Apache-2.0
// An image of GPU memory: arrays with gaps between them, once on the host and once on the GPU. A kernel changes one,
// and the host's own code the other. Afterwards all bytes must be equal, also those of the gaps.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "checks.h"
#include "reduce_support.h"
#include "util/text.h"

namespace mdist::gpu_test {

/// Where arrays begin: at multiples of 256 bytes, all at the same distance after such a multiple, at multiples of their
/// element size, or anywhere.
enum class Lie { kAligned, kAlike, kElements, kAnywhere };
inline constexpr Lie kLies[] = {Lie::kAligned, Lie::kAlike, Lie::kElements, Lie::kAnywhere};

class Image {
  public:
    Image(const Gpu &gpu, Random &random, Lie lie) : gpu_(gpu), random_(random), lie_(lie), alike_(random() % 16) {}

    /// Adds an array and returns its number. Its elements are chosen to expose mistakes.
    std::size_t add(int32_t dtype, std::size_t elements) {
        const std::size_t size = dtype_size(dtype);
        std::size_t shift = 0;
        if (lie_ == Lie::kAlike) shift = alike_ * size % 16;
        if (lie_ == Lie::kElements) shift = random_() % 16 * size;
        if (lie_ == Lie::kAnywhere) shift = random_() % 16;
        const std::size_t offset = (bytes_.size() + 255) / 256 * 256 + shift;
        offsets_.push_back(offset);
        bytes_.resize(offset + elements * size, 0xa5);
        fill_elements(random_, dtype, bytes_.data() + offset, elements);
        return offsets_.size() - 1;
    }

    /// After the last array.
    void upload() {
        bytes_.resize(bytes_.size() + 64, 0xa5);
        memory_.emplace_back(gpu_, bytes_.size());
        gpu_.upload(memory_[0].data(), bytes_.data(), bytes_.size());
    }
    char *on_gpu(std::size_t array) const { return memory_[0].data() + offsets_[array]; }
    unsigned char *on_host(std::size_t array) { return bytes_.data() + offsets_[array]; }

    /// Waits for the stream. Returns where the two differ first; "" if they are equal.
    std::string difference() const {
        std::vector<unsigned char> found(bytes_.size());
        gpu_.download(found.data(), memory_[0].data(), found.size());
        if (std::memcmp(found.data(), bytes_.data(), found.size()) == 0) return "";
        std::size_t at = 0;
        while (found[at] == bytes_[at]) ++at;
        for (std::size_t i = offsets_.size(); i-- > 0;)
            if (offsets_[i] <= at)
                return text("array ", i, ", byte ", at - offsets_[i], " is ", +found[at], ", not ", +bytes_[at]);
        return text("byte ", at, " in front of all");
    }

  private:
    const Gpu &gpu_;
    Random &random_;
    const Lie lie_;
    const std::size_t alike_;
    std::vector<std::size_t> offsets_;
    std::vector<unsigned char> bytes_;
    std::vector<Memory> memory_;
};

} // namespace mdist::gpu_test
