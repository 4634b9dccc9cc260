// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include "errors.h"

#include <algorithm>

namespace fake_gpu {

void Capture::add(const mdist_gpu_stream *stream, JobMaker job) {
    const std::lock_guard guard(lock_);
    jobs_.push_back(std::move(job));
    ++streams_[stream].given;
}

uint64_t Capture::position(const mdist_gpu_stream *stream) {
    const std::lock_guard guard(lock_);
    return streams_[stream].given;
}

void Capture::join(const mdist_gpu_stream *stream, const mdist_gpu_stream *other, uint64_t position) {
    const std::lock_guard guard(lock_);
    streams_[other].joined = std::max(streams_[other].joined, position);
    if (stream != origin_) ++streams_[stream].given; // the wait is work, too, for which another stream must wait
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
    const bool joined = std::all_of(streams_.begin(), streams_.end(), [this](const auto &each) {
        return each.first == origin_ || each.second.joined == each.second.given;
    });
    return joined ? kOk : kCaptureUnjoined;
}

bool Capture::ended() {
    const std::lock_guard guard(lock_);
    return ended_;
}

} // namespace fake_gpu
