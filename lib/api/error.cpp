// SPDX-License-Identifier: Apache-2.0
#include "api/error.h"

#include <cstring>
#include <new>
#include <string_view>

#include "util/callback.h"
#include "util/failure.h"

namespace {

constexpr mdist_error without_memory(mdist_status_t status) {
    return {status,
            MDIST_NONE,
            MDIST_NONE,
            0,
            status == MDIST_ERR_OUT_OF_MEMORY
                ? "out of memory"
                : "out of memory while writing the error message; the status says what kind of error it was",
            "",
            ""};
}

// One static error for each status, at its distance below INVALID_ARGUMENT.
constexpr int kErrors = MDIST_ERR_INVALID_ARGUMENT - MDIST_ERR_INTERNAL + 1;

struct StaticErrors {
    mdist_error errors[kErrors];
};

constexpr StaticErrors make_static_errors() {
    StaticErrors all = {};
    for (int i = 0; i < kErrors; ++i)
        all.errors[i] = without_memory(static_cast<mdist_status_t>(MDIST_ERR_INVALID_ARGUMENT - i));
    return all;
}

constinit StaticErrors static_errors = make_static_errors();

bool is_static(const mdist_error *error) {
    for (const mdist_error &one : static_errors.errors)
        if (error == &one) return true;
    return false;
}

const char *append(char *&at, std::string_view text) {
    const char *start = at;
    std::memcpy(at, text.data(), text.size());
    at[text.size()] = '\0';
    at += text.size() + 1;
    return start;
}

} // namespace

namespace mdist {

mdist_error_t *static_error(mdist_status_t status) noexcept {
    const bool known = status <= MDIST_ERR_INVALID_ARGUMENT && status >= MDIST_ERR_INTERNAL;
    return &static_errors.errors[MDIST_ERR_INVALID_ARGUMENT - (known ? status : MDIST_ERR_INTERNAL)];
}

mdist_error_t *make_error(const Failure &failure, const char *operation) noexcept {
    const std::string_view called =
        failure.operation().empty() && operation != nullptr ? operation : std::string_view(failure.operation());
    // There was no memory for the sentence when the failure was noticed.
    const std::string_view message =
        failure.message().empty() ? static_error(failure.status())->message : std::string_view(failure.message());
    const std::size_t texts = message.size() + failure.reason().size() + called.size() + 3;
    void *memory = ::operator new(sizeof(mdist_error) + texts, std::nothrow);
    if (memory == nullptr) return static_error(failure.status());
    auto *error =
        new (memory) mdist_error{failure.status(), failure.replica(), failure.worker(), failure.native(), "", "", ""};
    char *at = static_cast<char *>(memory) + sizeof(mdist_error);
    error->message = append(at, message);
    error->reason = append(at, failure.reason());
    error->operation = append(at, called);
    return error;
}

} // namespace mdist

mdist_status_t mdist_error_status(const mdist_error_t *error) {
    return error == nullptr ? MDIST_OK : error->status;
}

const char *mdist_error_message(const mdist_error_t *error) {
    return error == nullptr ? "" : error->message;
}

const char *mdist_error_reason(const mdist_error_t *error) {
    return error == nullptr ? "" : error->reason;
}

const char *mdist_error_operation(const mdist_error_t *error) {
    return error == nullptr ? "" : error->operation;
}

uint32_t mdist_error_replica(const mdist_error_t *error) {
    return error == nullptr ? MDIST_NONE : error->replica;
}

uint32_t mdist_error_rank(const mdist_error_t *error) {
    return error == nullptr ? MDIST_NONE : error->worker;
}

int64_t mdist_error_native(const mdist_error_t *error) {
    return error == nullptr ? 0 : error->native;
}

void mdist_fail(int32_t code, const char *why) {
    mdist::CalledBack::fail(code, why);
}

void mdist_error_free(mdist_error_t *error) {
    if (error != nullptr && !is_static(error)) ::operator delete(error);
}
