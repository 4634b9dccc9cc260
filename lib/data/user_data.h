// SPDX-License-Identifier: Apache-2.0
// UserData: a caller's pointer with the function that releases it, run exactly once.
//
// Made first thing in the call that registers it, so that a registration that fails on its way releases it too. Moves
// along with whoever keeps it last; the function runs on the thread that lets go. What it throws is swallowed, since it
// runs in destructors; it must not end its thread.
#pragma once

#include <mdist/base.h>

#include <utility>

namespace mdist {

class UserData {
  public:
    UserData(void *data, mdist_free_fn free) : data_(data), free_(free) {}
    UserData(UserData &&other) noexcept : data_(other.data_), free_(std::exchange(other.free_, nullptr)) {}
    UserData &operator=(UserData &&) = delete;
    ~UserData() {
        if (free_ == nullptr) return;
        try {
            free_(data_);
        } catch (...) {
        }
    }

    void *get() const { return data_; }

  private:
    void *data_;
    mdist_free_fn free_;
};

} // namespace mdist
