// SPDX-License-Identifier: Apache-2.0
// Events of the fake: each recording makes a mark, which outlives the event if a stream still comes to it. Any thread.
#pragma once

#include "device/gpu/module.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace fake_gpu {

class Capture;

class Mark {
  public:
    /// Of a stream that is recorded: how far it had come. Such a mark never happens.
    const std::shared_ptr<Capture> capture;
    const mdist_gpu_stream *const stream = nullptr;
    const uint64_t position = 0;

    Mark() = default;
    Mark(std::shared_ptr<Capture> recorded, const mdist_gpu_stream *where, uint64_t how_far)
        : capture(std::move(recorded)), stream(where), position(how_far) {}
    void happen();
    void wait();
    bool happened();
    std::chrono::steady_clock::time_point when(); // it has happened

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    bool happened_ = false;
    std::chrono::steady_clock::time_point when_;
};

/// Of the last recording, one that has happened if there was none; null for what is no event.
std::shared_ptr<Mark> mark_of(mdist_gpu_event *event);
/// Of a new recording on that GPU, in a capture perhaps; null for what is no event of it.
std::shared_ptr<Mark> new_mark(int32_t device, mdist_gpu_event *event, const std::shared_ptr<Capture> &capture,
                               const mdist_gpu_stream *stream);

} // namespace fake_gpu
