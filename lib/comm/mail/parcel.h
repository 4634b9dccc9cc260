// SPDX-License-Identifier: Apache-2.0
// Parcel: one call's message, wherever its buffer lies. The bytes of a buffer on a GPU go through host memory: a send
// waits for the replica's stream and copies at its start; a receive is copied to the GPU when it is over, by the thread
// that asks.
//
// Any thread may call the functions, once the parcel is started.
#pragma once

#include "comm/mail/mail.h"
#include "device/gpu/gpu.h"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace mdist {

class Parcel {
  public:
    /// `gpu` is the replica's, if the buffer lies there; else nullptr.
    Parcel(Mail &mail, Gpu *gpu, bool sends, uint32_t party, const MailKey &key, const mdist_buffer_t &buffer,
           uint64_t timeout_ns, bool started);

    const Post &post() const { return post_; }
    void start() { mail_.start(post_); }
    void call() {
        mail_.call(post_);
        deliver();
    }
    bool test() { return mail_.test(post_) && deliver(); }
    bool wait(uint64_t timeout_ns) { return mail_.wait(post_, timeout_ns) && deliver(); }
    int descriptor() { return mail_.descriptor(post_); }
    void when_over(std::function<void(mdist_status_t)> function) { mail_.when_over(post_, std::move(function)); }
    /// Lets it go on without its caller.
    static void leave(const std::shared_ptr<Parcel> &parcel) { parcel->mail_.keep(parcel->post_, parcel); }
    void settle(const Failure &cause) noexcept;

  private:
    /// Copies what was received to the GPU, once.
    bool deliver();

    Mail &mail_;
    Gpu *const gpu_;
    const mdist_buffer_t buffer_;
    Memory host_;  // in place of memory of a GPU
    Event before_; // what the replica's stream had to do when the receive began
    std::mutex mutex_;
    bool delivered_ = false;
    Post post_;
};

} // namespace mdist
