// SPDX-License-Identifier: Apache-2.0
// Failure: the exception that every layer throws when a call cannot do what it was asked.
//
// It carries all that the caller will see: the status and one sentence. Where known, it also has the reason word,
// operation, replica, worker and native code. The guard at the C boundary turns it into a status and an mdist_error_t.
// Nothing else should catch it, except to add what only an outer layer knows.
#pragma once

#include <mdist/status.h>

#include <exception>
#include <string>
#include <utility>

namespace mdist {

class Failure : public std::exception {
  public:
    Failure(mdist_status_t status, std::string message) : status_(status), message_(std::move(message)) {}

    Failure &&reason(std::string word) && { return reason_ = std::move(word), std::move(*this); }
    Failure &&operation(std::string name) && { return operation_ = std::move(name), std::move(*this); }
    Failure &&replica(uint32_t id) && { return replica_ = id, std::move(*this); }
    Failure &&worker(uint32_t rank) && { return worker_ = rank, std::move(*this); }
    Failure &&native(int64_t code) && { return native_ = code, std::move(*this); }

    /// Puts a subject in front of the sentence: "leaf \"loss\": ...".
    Failure &&about(const std::string &what) && { return message_.insert(0, what + ": "), std::move(*this); }

    mdist_status_t status() const { return status_; }
    const std::string &message() const { return message_; }
    const std::string &reason() const { return reason_; }
    const std::string &operation() const { return operation_; }
    uint32_t replica() const { return replica_; }
    uint32_t worker() const { return worker_; }
    int64_t native() const { return native_; }
    const char *what() const noexcept override { return message_.c_str(); }

  private:
    mdist_status_t status_;
    std::string message_;
    std::string reason_;
    std::string operation_;
    uint32_t replica_ = MDIST_NONE;
    uint32_t worker_ = MDIST_NONE;
    int64_t native_ = 0;
};

inline Failure invalid(std::string message) {
    return {MDIST_ERR_INVALID_ARGUMENT, std::move(message)};
}

} // namespace mdist
