// SPDX-License-Identifier: Apache-2.0
// Guard: the edge between exceptions inside and status codes outside. Every exported function that can fail runs its
// body in guard(); no exception leaves it but the forced unwinding of pthread_exit and cancellation, which must pass.
// So exported functions are not noexcept. Also here: what a forked child may still do, which is next to nothing.
#pragma once

#include <type_traits>
#include <utility>

#include "api/handle.h"
#include "util/forced_unwind.h"

namespace mdist {

/// Turns the exception in flight into a status, and into an error where the caller wants one.
mdist_status_t report_exception(const char *operation, mdist_error_t **error) noexcept;

/// From now on a forked child is known as one. For whoever starts threads. Throws bad_alloc.
void watch_forks();
/// This process is a child forked off after watch_forks: threads are missing and locks may be held for ever.
bool process_forked() noexcept;
/// Throws FAILED_PRECONDITION ("forked") in such a child.
void check_process();

/// Runs `body`, which returns nothing or a status that is not a failure. `error` may be NULL, and is written on failure
/// only.
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
        if (thread_is_ending()) throw;
        return report_exception(operation, error);
    }
}

/// For `_destroy`: gives up a handle and hands back its object, or null. A forked child keeps everything as it is,
/// since the threads that its objects would wait for are not there.
template <class Public>
std::shared_ptr<ObjectOf<Public>> give_up(const Public *handle) noexcept {
    return process_forked() ? nullptr : retire(handle);
}

/// What a callback was registered with, from the moment the call comes in: freed here unless somebody took it over, so
/// that every way to fail, guard's own included, frees it exactly once. Make it before guard().
class Kept {
  public:
    Kept(void *user_data, mdist_free_fn free_user_data) noexcept : user_data_(user_data), free_(free_user_data) {}
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    ~Kept();

    /// The last step before handing it to what frees it from then on.
    void release() noexcept { free_ = nullptr; }
    /// Shared by those who keep it; freed with the last reference, also if this throws bad_alloc. Null if nobody wants
    /// to be told.
    std::shared_ptr<void> share();

  private:
    void *user_data_;
    mdist_free_fn free_;
};

} // namespace mdist
