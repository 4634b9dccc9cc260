// SPDX-License-Identifier: Apache-2.0
// Pointers: one address per party. Uses no heap for the number of replicas that a host usually has.
#pragma once

#include <cstddef>
#include <memory>

namespace mdist {

template <typename Pointer>
class Pointers {
  public:
    explicit Pointers(std::size_t count) : heap_(count > kInline ? new Pointer[count] : nullptr) {}

    Pointer *get() { return heap_ != nullptr ? heap_.get() : inline_; }
    Pointer &operator[](std::size_t i) { return get()[i]; }

  private:
    static constexpr std::size_t kInline = 16;
    Pointer inline_[kInline];
    std::unique_ptr<Pointer[]> heap_;
};

} // namespace mdist
