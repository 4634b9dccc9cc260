// SPDX-License-Identifier: Apache-2.0
// Handle: owns a handle of the library. Base of all classes that have a destroy function.
#pragma once

#include <mdist/mdist.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace mdist {

template <typename T, void (*destroy)(T *)>
class Handle {
  public:
    Handle() noexcept = default;
    explicit Handle(T *handle) noexcept : handle_(handle) {} // takes ownership

    T *get() const noexcept { return handle_.get(); }
    T *release() noexcept { return handle_.release(); } // the caller must destroy it
    explicit operator bool() const noexcept { return handle_ != nullptr; }

  private:
    struct Destroy {
        void operator()(T *handle) const noexcept { destroy(handle); }
    };
    std::unique_ptr<T, Destroy> handle_;
};

namespace detail {

// A borrowed handle, as an object of the class that usually owns it.
template <typename Class>
class Borrowed {
  public:
    template <typename T>
    explicit Borrowed(T *handle) noexcept : object_(handle) {}
    ~Borrowed() { object_.release(); }
    Borrowed(const Borrowed &) = delete;
    Borrowed &operator=(const Borrowed &) = delete;

    Class &operator*() noexcept { return object_; }

  private:
    Class object_;
};

// For free_user_data: deletes an object that the library kept.
template <typename T>
void drop(void *kept) noexcept {
    delete static_cast<T *>(kept);
}

} // namespace detail
} // namespace mdist
