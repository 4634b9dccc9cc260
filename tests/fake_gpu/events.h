// SPDX-License-Identifier: Apache-2.0
// Events of simulated GPUs. Each recording of an event makes a mark. The mark outlives the event if a stream has yet to
// reach it. Any thread.
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
    /// For a mark in a capture: its stream, and how far that had come. Such a mark never happens.
    const std::shared_ptr<Capture> capture;
    const mdist_gpu_stream *const stream = nullptr;
    const uint64_t position = 0;

    Mark() = default;
    Mark(std::shared_ptr<Capture> recorded, const mdist_gpu_stream *where, uint64_t how_far)
        : capture(std::move(recorded)), stream(where), position(how_far) {}
    void happen();
    void wait();
    bool happened();
    std::chrono::steady_clock::time_point when(); // call it only after the mark has happened

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    bool happened_ = false;
    std::chrono::steady_clock::time_point when_;
};

/// Returns the mark of the last recording. If there was none, it returns a mark that has happened; null if `event` is
/// no event.
std::shared_ptr<Mark> mark_of(mdist_gpu_event *event);
/// Returns the mark of a new recording on that GPU, perhaps in a capture; null if `event` is no event of that GPU.
std::shared_ptr<Mark> new_mark(int32_t device, mdist_gpu_event *event, const std::shared_ptr<Capture> &capture,
                               const mdist_gpu_stream *stream);

} // namespace fake_gpu
