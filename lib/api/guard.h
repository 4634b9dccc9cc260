// SPDX-License-Identifier: Apache-2.0
// Guard: turns exceptions inside the library into status codes outside. Every exported function that can fail runs its
// body in guard(). No exception leaves guard() except the forced unwinding of pthread_exit and cancellation, which must
// pass. Exported functions are therefore not noexcept.
// This file also defines what a forked child may still do, which is almost nothing.
#pragma once

#include <type_traits>
#include <utility>

#include "api/handle.h"
#include "util/forced_unwind.h"

namespace mdist {

/// Turns the current exception into a status, and into an error if the caller wants one.
mdist_status_t report_exception(const char *operation, mdist_error_t **error) noexcept;

/// Makes later forked children detectable. Call it before starting threads. Throws bad_alloc.
void watch_forks();
/// Whether this process is a child forked after watch_forks(). In such a child threads are missing, and locks may stay
/// held forever.
bool process_forked() noexcept;
/// Throws FAILED_PRECONDITION ("forked") in a forked child.
void check_process();

/// Runs `body`, which returns nothing or a status that is not a failure. `error` may be NULL. It is written only on
/// failure.
template <class Body>
mdist_status_t guard(const char *operation, mdist_error_t **error, Body &&body) {
    try {
        check_process();
        if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
            std::forward<Body>(body)();
            return MDIST_OK;
        } else {
            return std::forward<Body>(body)();
        }
    } catch (...) {
        if (thread_is_ending()) rethrow();
        return report_exception(operation, error);
    }
}

/// For `_destroy`: gives up a handle and returns its object, or null. Does nothing in a forked child, because the
/// threads that its objects would wait for are missing.
template <class Public>
std::shared_ptr<ObjectOf<Public>> give_up(const Public *handle) noexcept {
    return process_forked() ? nullptr : retire(handle);
}

/// Owns a callback's user data from the moment the call comes in. Frees it unless another object took it over. Every
/// failure, even one in guard() itself, thus frees it exactly once. Construct it before guard().
class Kept {
  public:
    Kept(void *user_data, mdist_free_fn free_user_data) noexcept : user_data_(user_data), free_(free_user_data) {}
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    ~Kept();

    /// Gives up ownership. Call it as the last step before another object takes over.
    void release() noexcept { free_ = nullptr; }
    /// Shares the user data. It is freed with the last reference, also if this throws bad_alloc. Returns null if there
    /// is no free function.
    std::shared_ptr<void> share();

  private:
    void *user_data_;
    mdist_free_fn free_;
};

} // namespace mdist
