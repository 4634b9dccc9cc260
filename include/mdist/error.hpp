// SPDX-License-Identifier: Apache-2.0
// Error: an error reported by the library. Thrown: carries exceptions of callbacks through the library.
#pragma once

#include <mdist/mdist.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace mdist {

class Error : public std::exception {
  public:
    // Takes ownership of the error, which may be NULL.
    Error(mdist_status_t status, mdist_error_t *error) : status_(status), error_(error, mdist_error_free) {}

    // One sentence with the bad value, its place, and what would be right.
    const char *what() const noexcept override {
        return error_ ? mdist_error_message(error_.get()) : mdist_status_name(status_);
    }
    mdist_status_t status() const noexcept { return status_; }
    std::string_view reason() const noexcept { return mdist_error_reason(error_.get()); }
    std::string_view operation() const noexcept { return mdist_error_operation(error_.get()); }
    uint32_t replica() const noexcept {
        return mdist_error_replica(error_.get());
    } // the replica at fault, or MDIST_NONE
    uint32_t rank() const noexcept {
        return mdist_error_rank(error_.get());
    } // rank of the worker at fault, or MDIST_NONE
    int64_t native() const noexcept { return mdist_error_native(error_.get()); }

  private:
    mdist_status_t status_;
    std::shared_ptr<mdist_error_t> error_; // shared, since copying an exception must not throw
};

namespace detail {

// Calls a function of the library whose last parameter is `error`. Returns MDIST_OK or MDIST_END.
template <typename Function, typename... Arguments>
mdist_status_t call(Function function, Arguments... arguments) {
    mdist_error_t *error = nullptr;
    const mdist_status_t status = function(arguments..., &error);
    if (status < 0) throw Error(status, error);
    return status;
}

// Carries exceptions, which cannot pass through C. Each exception is kept here under a number, which the callback
// returns. The library gives its caller the number of the first cause, and the caller finds the exception by that
// number. Numbers are the process's own, so that one object can look in others. Any thread.
class Thrown {
  public:
    // Also finds the exceptions of another: where datasets are joined.
    void look_in(std::shared_ptr<Thrown> other) {
        const std::lock_guard lock(mutex_);
        others_.push_back(std::move(other));
    }

    // Calls a function. Returns 0, or the number of the exception that it threw. Also tells the library the exception's
    // message, for errors that other workers get.
    template <typename Function>
    int32_t guard(Function &&function) noexcept {
        try {
            function();
            return 0;
        } catch (const std::exception &exception) {
            mdist_fail(0, exception.what());
            return keep(std::current_exception());
        } catch (...) {
            return keep(std::current_exception());
        }
    }

    // The same as detail::call, for functions that call back.
    template <typename... Arguments>
    mdist_status_t call(Arguments... arguments) {
        try {
            return detail::call(arguments...);
        } catch (const Error &error) {
            if (error.status() == MDIST_ERR_CALLBACK) rethrow(error.native());
            throw;
        }
    }

  private:
    int32_t keep(std::exception_ptr exception) noexcept {
        try {
            const int32_t number = static_cast<int32_t>(last_number_++ % 0x7ffffffe) + 2; // never OK (0) or END (1)
            const std::lock_guard lock(mutex_);
            exceptions_[number] = std::move(exception);
            return number;
        } catch (...) {
            return -1; // out of memory: the library's own error must do
        }
    }

    void rethrow(int64_t number) {
        if (const std::exception_ptr exception = find(number)) std::rethrow_exception(exception);
    }

    std::exception_ptr find(int64_t number) {
        std::unique_lock lock(mutex_);
        const auto found = exceptions_.find(number);
        if (found != exceptions_.end()) return found->second;
        const auto others = others_;
        lock.unlock();
        for (const auto &other : others)
            if (const std::exception_ptr exception = other->find(number)) return exception;
        return nullptr;
    }

    static inline std::atomic<uint32_t> last_number_ = 0;
    std::mutex mutex_;
    std::map<int64_t, std::exception_ptr> exceptions_;
    std::vector<std::shared_ptr<Thrown>> others_;
};

} // namespace detail
} // namespace mdist
