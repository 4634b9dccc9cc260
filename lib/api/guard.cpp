// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>

#include <pthread.h>

#include "api/error.h"
#include "util/callback.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

constinit std::atomic<bool> forked = false;
constinit std::mutex watch_lock;
bool watching = false; // guarded by watch_lock

mdist_status_t report(const Failure &failure, const char *operation, mdist_error_t **error) noexcept {
    CalledBack::note(operation, failure);
    if (error != nullptr) *error = make_error(failure, operation);
    return failure.status();
}

} // namespace

mdist_status_t report_exception(const char *operation, mdist_error_t **error) noexcept {
    try {
        try {
            throw;
        } catch (const Failure &failure) {
            return report(failure, operation, error);
        } catch (const std::length_error &) { // a container was asked for more than memory can hold
            if (error != nullptr) *error = static_error(MDIST_ERR_OUT_OF_MEMORY);
            return MDIST_ERR_OUT_OF_MEMORY;
        } catch (const std::bad_alloc &) {
            if (error != nullptr) *error = static_error(MDIST_ERR_OUT_OF_MEMORY);
            return MDIST_ERR_OUT_OF_MEMORY;
        } catch (const std::exception &exception) {
            return report(
                Failure(MDIST_ERR_INTERNAL, text("a bug in libmdist: ", exception.what(), ". Please report it")),
                operation, error);
        } catch (...) {
            return report(
                Failure(MDIST_ERR_INTERNAL, "a bug in libmdist: an exception of unknown type. Please report it"),
                operation, error);
        }
    } catch (...) { // out of memory for the sentence
        if (error != nullptr) *error = static_error(MDIST_ERR_INTERNAL);
        return MDIST_ERR_INTERNAL;
    }
}

void watch_forks() {
    const std::lock_guard<std::mutex> hold(watch_lock);
    if (watching) return;
    const auto child = [] { forked.store(true, std::memory_order_relaxed); };
    if (pthread_atfork(nullptr, nullptr, child) != 0) throw std::bad_alloc();
    watching = true;
}

bool process_forked() noexcept {
    return forked.load(std::memory_order_relaxed);
}

Kept::~Kept() {
    if (free_ == nullptr) return;
    try {
        free_(user_data_);
    } catch (...) {
        return; // an error in the caller's function, with no caller left to report it to
    }
}

std::shared_ptr<void> Kept::share() {
    if (free_ == nullptr) return nullptr;
    // The kept pointer is the registration itself, because the caller's function may want to be called with NULL.
    auto kept = std::make_shared<Kept>(user_data_, free_);
    release();
    return kept;
}

void check_process() {
    if (process_forked())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "this process is the fork of a process that had already created a strategy or an iterator with "
                      "threads. Create strategies and iterators after the fork")
            .reason("forked");
}

} // namespace mdist
