// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include "errors.h"

#include <algorithm>

namespace fake_gpu {

std::vector<JobMaker> some_order(const Graph &graph, std::mt19937_64 &random) {
    std::map<const mdist_gpu_stream *, std::size_t> done;
    std::vector<JobMaker> jobs;
    const auto next = [&](const auto &branch) -> const Step * {
        const std::size_t at = done[branch.first];
        if (at == branch.second.size()) return nullptr;
        const Step &step = branch.second[at];
        return step.other == nullptr || done[step.other] >= step.position ? &step : nullptr;
    };
    for (;;) {
        std::vector<const mdist_gpu_stream *> ready;
        for (const auto &branch : graph)
            if (next(branch) != nullptr) ready.push_back(branch.first);
        if (ready.empty()) return jobs;
        const mdist_gpu_stream *const chosen = ready[random() % ready.size()];
        const Step &step = graph.at(chosen)[done[chosen]++];
        if (step.job) jobs.push_back(step.job);
    }
}

void Capture::add(const mdist_gpu_stream *stream, JobMaker job) {
    const std::lock_guard guard(lock_);
    graph_[stream].push_back({std::move(job)});
}

uint64_t Capture::position(const mdist_gpu_stream *stream) {
    const std::lock_guard guard(lock_);
    return graph_[stream].size();
}

void Capture::join(const mdist_gpu_stream *stream, const mdist_gpu_stream *other, uint64_t position) {
    const std::lock_guard guard(lock_);
    joined_[other] = std::max(joined_[other], position);
    graph_[stream].push_back({nullptr, other, position}); // the wait is work, too, for which another stream must wait
}

int Capture::spoil(int error) {
    const std::lock_guard guard(lock_);
    spoilt_ = true;
    return error;
}

int Capture::end(const mdist_gpu_stream *stream) {
    const std::lock_guard guard(lock_);
    if (stream != origin_) return kInvalidValue;
    ended_ = true;
    if (spoilt_) return kCaptureInvalidated;
    const bool joined = std::all_of(graph_.begin(), graph_.end(), [this](const auto &each) {
        return each.first == origin_ || joined_[each.first] == each.second.size();
    });
    return joined ? kOk : kCaptureUnjoined;
}

bool Capture::ended() {
    const std::lock_guard guard(lock_);
    return ended_;
}

} // namespace fake_gpu
