// SPDX-License-Identifier: Apache-2.0
// Calls the program's own functions (callbacks). If one returns a number other than 0 or throws, that becomes a Failure
// with the name of the function and the reason it gave (mdist_fail). A thread exit passes through.
#pragma once

#include "util/failure.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <string>
#include <string_view>

namespace mdist {

/// Why a callback failed, as far as is known.
struct Why {
    std::string said;        // the reason it gave itself
    std::string failed_call; // the last library call that failed in it, which is the probable reason

    /// Returns the text that follows "... returned 7".
    std::string text() const;
};

/// Stands for a callback while it runs. It lives on the stack of the callback's thread, inner ones above outer ones. It
/// remembers the reason that the callback gives, the code that it is to fail with, and the last library call that
/// failed in it.
class CalledBack {
  public:
    CalledBack() noexcept;
    ~CalledBack();
    CalledBack(const CalledBack &) = delete;
    CalledBack &operator=(const CalledBack &) = delete;

    const Why &why() const { return why_; }
    /// What the callback has come to if it returned `code`.
    int32_t result(int32_t code) const { return code_ != 0 ? code_ : code; }

    /// Notes that a library call on this thread fails. The innermost callback on this thread keeps it, if there is one.
    static void note(std::string_view function, const Failure &failure) noexcept;

    /// Has the innermost callback on this thread fail with `code` whatever it returns; 0: with what it returns. `why` is
    /// its reason; NULL leaves an earlier one. If no callback runs, the thread itself keeps the reason, for the replica
    /// that it works for.
    static void fail(int32_t code, const char *why) noexcept;
    /// Takes and returns the thread's own reason. Returns "" if there is none, or no memory.
    static std::string take_said() noexcept;

  private:
    CalledBack *const outer_;
    Why why_;
    int32_t code_ = 0;
};

/// Returns the message of a failed call, with the function's name in front unless it is there already.
std::string failed_call_text(std::string_view function, const Failure &failure);

/// Returns the failure of a callback that threw. `what` is the exception's text, or NULL if it is no std::exception.
Failure callback_threw(const std::string &who, const char *what, const Why &why);
/// Returns the failure of a callback that returned a number other than 0. `hint` follows if no reason is known.
Failure callback_returned(const std::string &who, int32_t code, const Why &why, const char *hint = "");

/// Calls `function` and returns its result. `who()` gives the beginning of a sentence ("the step of replica 3"). `why`,
/// if given, gets what is known in case the result means a failure.
template <typename Who, typename Function>
int32_t call_back(const Who &who, Function &&function, Why *why = nullptr) {
    CalledBack running;
    try {
        const int32_t code = running.result(function());
        if (why != nullptr && !running.why().failed_call.empty()) why->failed_call = running.why().failed_call;
        if (why != nullptr && code != 0) why->said = running.why().said;
        return code;
    } catch (const std::exception &exception) {
        throw callback_threw(who(), exception.what(), running.why());
    } catch (...) {
        if (thread_is_ending()) rethrow();
        throw callback_threw(who(), nullptr, running.why());
    }
}

/// Calls `function` and throws a Failure if it does not return 0.
template <typename Who, typename Function>
void call_back_or_fail(const Who &who, Function &&function) {
    Why why;
    const int32_t code = call_back(who, function, &why);
    if (code != 0) throw callback_returned(who(), code, why);
}

} // namespace mdist
