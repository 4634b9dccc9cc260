// SPDX-License-Identifier: Apache-2.0
#include "util/callback.h"

#include "util/utf8.h"

#include <cstring>
#include <new>
#include <utility>

namespace mdist {
namespace {

/// The limit that mdist_fail documents.
constexpr std::size_t kMostSaid = 511;

thread_local CalledBack *innermost = nullptr;
thread_local char said_outside[kMostSaid + 1]; // needs no destructor, unlike a string

} // namespace

std::string Why::text() const {
    if (failed_call.empty()) return said.empty() ? "" : ": " + said;
    // A callback that passes on the message of the failed call says nothing new.
    std::string_view new_words = said;
    if (new_words.ends_with("...")) new_words.remove_suffix(3);
    if (failed_call.find(new_words) != std::string::npos) return ". A call in it had failed: " + failed_call;
    return mdist::text(": ", said, said.ends_with('.') ? "" : ".", " A call in it had failed: ", failed_call);
}

CalledBack::CalledBack() noexcept : outer_(innermost) {
    innermost = this;
}

CalledBack::~CalledBack() {
    innermost = outer_;
}

void CalledBack::note(std::string_view function, const Failure &failure) noexcept {
    if (innermost == nullptr) return;
    try {
        innermost->why_.failed_call = failed_call_text(function, failure);
    } catch (const std::bad_alloc &) {
        // The message only helps the reader. The failure itself goes on without it.
    }
}

void CalledBack::fail(int32_t code, const char *why) noexcept {
    if (innermost != nullptr) innermost->code_ = code;
    if (why == nullptr) return;
    // If the program forgot the NUL, this does not read far beyond the end.
    const std::string_view all(why, strnlen(why, kMostSaid + 4));
    try {
        std::string said = utf8_within(kMostSaid, all);
        if (innermost != nullptr)
            innermost->why_.said = std::move(said);
        else
            std::memcpy(said_outside, said.c_str(), said.size() + 1);
    } catch (const std::bad_alloc &) {
        // Likewise.
    }
}

std::string CalledBack::take_said() noexcept {
    if (innermost != nullptr) return std::exchange(innermost->why_.said, {});
    std::string said;
    try {
        said = said_outside;
    } catch (const std::bad_alloc &) {
        // Likewise.
    }
    said_outside[0] = '\0';
    return said;
}

std::string failed_call_text(std::string_view function, const Failure &failure) {
    if (failure.message().starts_with(function)) return failure.message();
    return text(function, ": ", failure.message());
}

Failure callback_threw(const std::string &who, const char *what, const Why &why) {
    const std::string thrown = what == nullptr ? " threw something that is not a std::exception"
                                               : text(" threw: ", utf8_within(kMostSaid, what));
    return {MDIST_ERR_CALLBACK, text(who, thrown, why.said.empty() ? "" : ": ", why.said)};
}

Failure callback_returned(const std::string &who, int32_t code, const Why &why, const char *hint) {
    const std::string known = why.text();
    return Failure(MDIST_ERR_CALLBACK, text(who, " returned ", code, known.empty() ? hint : known)).native(code);
}

} // namespace mdist
