// SPDX-License-Identifier: Apache-2.0
// Capture: records the work that streams are given, instead of doing it. It begins with one stream. Another stream
// joins when it waits for an event of the capture. Before the capture ends, the first stream must wait for all others.
// Any thread.
//
// What streams recorded without waiting for each other may run in any order. Each launch takes another one.
#pragma once

#include "streams.h"

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <vector>

namespace fake_gpu {

/// Makes the job for one launch.
using JobMaker = std::function<Job()>;

/// What was recorded on one stream, step by step: a job, or a wait until `other` has come to `position`.
struct Step {
    JobMaker job;
    const mdist_gpu_stream *other = nullptr;
    uint64_t position = 0;
};
using Graph = std::map<const mdist_gpu_stream *, std::vector<Step>>;

/// The graph's jobs in some order that the waits allow.
std::vector<JobMaker> some_order(const Graph &graph, std::mt19937_64 &random);

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
    const Graph &graph() const { return graph_; } // once it has ended

  private:
    const mdist_gpu_stream *const origin_;
    std::mutex lock_;
    Graph graph_;                                         // a stream's position is the number of its steps
    std::map<const mdist_gpu_stream *, uint64_t> joined_; // the last position for which another stream waits
    bool spoilt_ = false;
    bool ended_ = false;
};

} // namespace fake_gpu
