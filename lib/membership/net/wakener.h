// SPDX-License-Identifier: Apache-2.0
// Wakener: ends a reactor's wait. wake(): any thread. All else: the thread that waits.
#pragma once

#include <cstdint>

#include "membership/net/descriptors.h"

namespace mdist {

class Wakener {
  public:
    /// `epoll` watches it as `id`. Throws RESOURCE.
    Wakener(int epoll, uint64_t id);
    void wake() const noexcept;
    /// Takes note of a wake(), so that the next one wakes again.
    void woken() const noexcept;

  private:
    const Descriptor descriptor_;
};

} // namespace mdist
