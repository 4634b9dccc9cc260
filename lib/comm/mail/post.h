// SPDX-License-Identifier: Apache-2.0
// Post: one replica's side of a message: a send or a receive, from its call until it is over.
//
// Messages are matched by sender, receiver, tag and run; equal ones in the order of their calls. The run is there so
// that a message of one step is never received in another one.
#pragma once

#include "comm/done_calls.h"
#include "util/alarm.h"
#include "util/failure.h"

#include <mdist/tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mdist {

/// What a sender and a receiver agree on. Replicas are ids of the job.
struct MailKey {
    uint32_t from = 0;
    uint32_t to = 0;
    uint64_t tag = 0;
    uint64_t run = 0;

    bool operator==(const MailKey &other) const {
        return from == other.from && to == other.to && tag == other.tag && run == other.run;
    }
};

/// What must be equal on both sides.
struct MailForm {
    int32_t dtype = 0;
    uint64_t elements = 0;

    bool operator==(const MailForm &other) const { return dtype == other.dtype && elements == other.elements; }
    std::size_t bytes() const;
    /// "3 float32"
    std::string text() const;
};

/// The mail owns all members; other threads read `over`. The object stays where it is until it is over.
struct Post {
    Post(bool sends, uint32_t local, const MailKey &with, const mdist_buffer_t &buffer, uint64_t timeout)
        : is_send(sends),
          party(local),
          key(with),
          form{buffer.dtype, buffer.elements},
          data(static_cast<char *>(buffer.data)),
          timeout_ns(timeout) {}
    Post(const Post &) = delete;
    Post &operator=(const Post &) = delete;

    const char *function() const { return is_send ? "mdist_send" : "mdist_receive"; }
    /// The replica whose call this is, and the one at the other end.
    uint32_t self() const { return is_send ? key.from : key.to; }
    uint32_t other() const { return is_send ? key.to : key.from; }
    /// How it ended.
    mdist_status_t status() const { return failure ? failure->status() : MDIST_OK; }
    /// "mdist_send(to 1, tag 7, 3 float32)"
    std::string text() const;

    const bool is_send;
    const uint32_t party; // local index of the replica
    const MailKey key;
    const MailForm form;
    char *const data;
    const uint64_t timeout_ns;

    uint64_t posted_ns = 0;
    uint32_t number = 0;  // of a send that was offered to another worker
    bool started = false; // in the line of started posts
    bool moving = false;  // a thread copies its bytes
    std::atomic<bool> met{false}; // the other side has come, in another worker; its bytes are on their way
    // Of a post that has met the other side: the progress with that worker that somebody saw last, and when.
    mutable std::atomic<uint64_t> moved{UINT64_MAX};
    mutable std::atomic<uint64_t> moved_ns{0};
    std::atomic<bool> over{false};
    std::optional<Failure> failure; // set before `over`
    std::unique_ptr<Alarm> alarm;
    DoneCalls::List listeners; // called when it is over
};

} // namespace mdist
