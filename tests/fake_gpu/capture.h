// SPDX-License-Identifier: Apache-2.0
// Capture: records the work that streams are given, instead of doing it. It begins with one stream. Another stream
// joins when it waits for an event of the capture. Before the capture ends, the first stream must wait for all others.
// Any thread.
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
    /// Returns how far a stream has come. An event that is recorded there stands for this position.
    uint64_t position(const mdist_gpu_stream *stream);
    /// Records that `stream` waits until `other` has come to `position`.
    void join(const mdist_gpu_stream *stream, const mdist_gpu_stream *other, uint64_t position);
    /// Makes the capture fail, because something forbidden happened. Returns `error`.
    int spoil(int error);
    /// Ends the capture on `stream`. Returns 0, or why nothing was recorded.
    int end(const mdist_gpu_stream *stream);
    bool ended();
    /// The jobs in the order in which they were given. So no job comes before one that it depends on.
    const std::vector<JobMaker> &jobs() const { return jobs_; } // once it has ended

  private:
    struct Progress {
        uint64_t given = 0;
        uint64_t joined = 0; // the last position for which another stream waits
    };

    const mdist_gpu_stream *const origin_;
    std::mutex lock_;
    std::vector<JobMaker> jobs_;
    std::map<const mdist_gpu_stream *, Progress> streams_;
    bool spoilt_ = false;
    bool ended_ = false;
};

} // namespace fake_gpu
