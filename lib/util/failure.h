// SPDX-License-Identifier: Apache-2.0
// Failure: the exception that every layer throws when a call cannot do what it was asked.
//
// It carries all that the caller will see: the status and one sentence. Where known, it also has the reason word,
// operation, replica, worker and native code. The guard at the C boundary turns it into a status and an mdist_error_t.
// Nothing else should catch it, except to add what only an outer layer knows.
//
// Nothing here throws, so what handles a failure may make, change and copy one, also if memory has run out. Copies
// share their texts. If there is no memory for a text, the failure goes on without it.
#pragma once

#include <mdist/status.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace mdist {

class Failure : public std::exception {
  public:
    Failure(mdist_status_t status, std::string_view message) noexcept : status_(status), message_(message) {}

    Failure &&reason(std::string_view word) &&noexcept { return reason_ = Text(word), std::move(*this); }
    Failure &&operation(std::string_view name) &&noexcept { return operation_ = Text(name), std::move(*this); }
    Failure &&replica(uint32_t id) &&noexcept { return replica_ = id, std::move(*this); }
    Failure &&worker(uint32_t rank) &&noexcept { return worker_ = rank, std::move(*this); }
    Failure &&native(int64_t code) &&noexcept { return native_ = code, std::move(*this); }

    /// Puts a subject in front of the sentence: "leaf \"loss\": ...".
    Failure &&about(std::string_view what) &&noexcept;

    mdist_status_t status() const noexcept { return status_; }
    /// Empty if there was no memory for it.
    const std::string &message() const noexcept;
    const std::string &reason() const noexcept { return reason_.words(); }
    const std::string &operation() const noexcept { return operation_.words(); }
    uint32_t replica() const noexcept { return replica_; }
    uint32_t worker() const noexcept { return worker_; }
    int64_t native() const noexcept { return native_; }
    const char *what() const noexcept override { return message().c_str(); }

  private:
    /// Words that copies share; empty if there was no memory for them.
    class Text {
      public:
        explicit Text(std::string_view words = {}, std::string_view more = {}) noexcept;
        const std::string &words() const noexcept;

      private:
        std::shared_ptr<const std::string> words_;
    };

    mdist_status_t status_;
    uint32_t replica_ = MDIST_NONE;
    uint32_t worker_ = MDIST_NONE;
    int64_t native_ = 0;
    Text message_, reason_, operation_;
};

/// Returns what `make` makes, or `plain` if memory runs out meanwhile.
template <class Make>
Failure failure_or(const Failure &plain, Make make) noexcept {
    try {
        return make();
    } catch (const std::bad_alloc &) {
        return plain;
    }
}

inline Failure out_of_memory() noexcept {
    return {MDIST_ERR_OUT_OF_MEMORY, "out of memory"};
}

/// Returns the failure that a caught exception stands for. If it is no Failure, then memory ran out, or a container was
/// asked for more than it can hold.
Failure as_failure(const std::exception &exception) noexcept;

inline Failure invalid(std::string_view message) {
    return {MDIST_ERR_INVALID_ARGUMENT, message};
}

} // namespace mdist
