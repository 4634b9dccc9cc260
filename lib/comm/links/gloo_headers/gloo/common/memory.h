// SPDX-License-Identifier: Apache-2.0
// Debian's libgloo-dev 0.0~git20220518 forgot to install this header, which gloo/transport/tcp/pair.h and its
// neighbours include. It stands in for it where it is missing (see lib/meson.build): the same three types, by name and
// by layout, with what those headers use. What they do is in libgloo: a buffer shares itself with the I/O thread for as
// long as that uses it, and its destructor waits for that to end.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class ShareableNonOwningPtr;

/// Tells the holders of a NonOwningPtr whether the object still exists.
template <typename T>
class WeakNonOwningPtr final {
  public:
    WeakNonOwningPtr() = default;
    explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T> &object) : ptr_(object.ptr_) {}

  private:
    std::weak_ptr<T> ptr_;
};

/// Keeps the object from being destroyed.
template <typename T>
class NonOwningPtr final {
  private:
    std::shared_ptr<T> ptr_;
};

/// A part of the object. Only libgloo constructs and destroys it.
template <typename T>
class ShareableNonOwningPtr final {
  public:
    explicit ShareableNonOwningPtr(T *object);
    ~ShareableNonOwningPtr();
    ShareableNonOwningPtr(const ShareableNonOwningPtr &) = delete;
    ShareableNonOwningPtr &operator=(const ShareableNonOwningPtr &) = delete;

  private:
    std::shared_ptr<T> ptr_;

    friend class WeakNonOwningPtr<T>;
};

} // namespace gloo
