// SPDX-License-Identifier: Apache-2.0
// OwnedRanges: records which addresses are the library's memory on which GPU, so that CUDA need not be asked. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace mdist {

class OwnedRanges {
  public:
    void add(const void *begin, std::size_t bytes, int32_t device);
    void remove(const void *begin) noexcept;
    /// The GPU that the address belongs to; empty if it is not the library's.
    std::optional<int32_t> find(const void *address) const;

  private:
    struct Range {
        std::uintptr_t end;
        int32_t device;
    };
    mutable std::shared_mutex mutex_;
    std::map<std::uintptr_t, Range> ranges_; // by their begin
};

} // namespace mdist
