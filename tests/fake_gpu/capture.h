// SPDX-License-Identifier: Apache-2.0
// Capture: work that streams were given while it was recorded, instead of doing it. It began with one stream; others
// join by waiting for an event of it, and must be joined again before it ends. Any thread.
#pragma once

#include "streams.h"

#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace fake_gpu {

/// Makes the job for one launch.
using JobMaker = std::function<Job()>;

class Capture {
  public:
    explicit Capture(const mdist_gpu_stream *origin) : origin_(origin) {}

    void add(const mdist_gpu_stream *stream, JobMaker job);
    /// How far a stream has come: what an event recorded there stands for.
    uint64_t position(const mdist_gpu_stream *stream);
    /// A stream of the capture waits until another one has come so far.
    void join(const mdist_gpu_stream *stream, const mdist_gpu_stream *other, uint64_t position);
    /// After what may not happen meanwhile; gives that error.
    int spoil(int error);
    /// 0, or why nothing was recorded. `stream`: who ends it.
    int end(const mdist_gpu_stream *stream);
    bool ended();
    /// In an order in which no job comes before one that it depends on: that in which they were given.
    const std::vector<JobMaker> &jobs() const { return jobs_; } // once it has ended

  private:
    struct Progress {
        uint64_t given = 0;
        uint64_t joined = 0; // how far others wait for it
    };

    const mdist_gpu_stream *const origin_;
    std::mutex lock_;
    std::vector<JobMaker> jobs_;
    std::map<const mdist_gpu_stream *, Progress> streams_;
    bool spoilt_ = false;
    bool ended_ = false;
};

} // namespace fake_gpu
