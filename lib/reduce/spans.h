// SPDX-License-Identifier: Apache-2.0
// Spans: which replicas each worker of a job has. Workers get consecutive replica ids. A worker has at least one
// replica, and workers may have different numbers of them. Immutable; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mdist {

/// Replica ids from `first` up to, but not including, `last`.
struct Span {
    uint32_t first;
    uint32_t last;
    uint32_t count() const { return last - first; }
    bool has(uint32_t replica) const { return first <= replica && replica < last; }
    bool operator==(const Span &) const = default;
};

class Spans {
  public:
    /// `counts` holds each worker's number of replicas.
    explicit Spans(const std::vector<uint32_t> &counts) {
        uint32_t first = 0;
        for (const uint32_t count : counts) {
            spans_.push_back({first, first + count});
            first += count;
        }
    }
    static Spans even(uint32_t workers, uint32_t each) { return Spans(std::vector<uint32_t>(workers, each)); }

    uint32_t workers() const { return static_cast<uint32_t>(spans_.size()); }
    uint32_t replicas() const { return spans_.back().last; }
    const Span &operator[](uint32_t worker) const { return spans_[worker]; }
    uint32_t worker_of(uint32_t replica) const {
        const auto behind = [](uint32_t id, const Span &span) { return id < span.last; };
        return static_cast<uint32_t>(std::upper_bound(spans_.begin(), spans_.end(), replica, behind) - spans_.begin());
    }
    /// The spans of groups of `count` consecutive workers. The last group has what is left.
    Spans grouped(uint32_t count) const {
        std::vector<uint32_t> counts;
        for (uint32_t first = 0; first < workers(); first += count)
            counts.push_back(spans_[std::min(first + count, workers()) - 1].last - spans_[first].first);
        return Spans(counts);
    }
    uint32_t most() const {
        const auto fewer = [](const Span &a, const Span &b) { return a.count() < b.count(); };
        return std::max_element(spans_.begin(), spans_.end(), fewer)->count();
    }
    /// Whether all workers have the same number.
    bool are_even() const {
        return std::all_of(spans_.begin(), spans_.end(),
                           [this](const Span &span) { return span.count() == spans_[0].count(); });
    }

  private:
    std::vector<Span> spans_;
};

} // namespace mdist
