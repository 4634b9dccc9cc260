// SPDX-License-Identifier: Apache-2.0
// Driving schedules of all parties at once: in a random order on one thread, which is repeatable, or each on its own.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/rails.h"
#include "comm/schedules/schedule.h"
#include "util/failure.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "job_support.h"

namespace mdist {

using Links = std::vector<std::unique_ptr<Link>>;
using Schedules = std::vector<std::unique_ptr<Schedule>>;
using Make = std::function<std::unique_ptr<Schedule>(uint32_t party)>;

/// What a call throws; OK if nothing.
template <typename Function>
Failure failure_of(Function function) {
    try {
        function();
    } catch (const Failure &failure) {
        return failure;
    }
    return {MDIST_OK, ""};
}

/// Creates and advances the parties' schedules until all are done; these outlive it, for their results.
inline Schedules drive(Random &random, uint32_t parties, const Make &make) {
    Schedules schedules(parties);
    std::vector<uint32_t> left(parties);
    std::iota(left.begin(), left.end(), 0);
    while (!left.empty()) {
        const std::size_t i = random() % left.size();
        const uint32_t party = left[i];
        if (!schedules[party]) schedules[party] = make(party);
        if (schedules[party]->advance()) left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return schedules;
}

inline std::vector<unsigned char> random_bytes(Random &random, std::size_t bytes) {
    std::vector<unsigned char> out(bytes);
    for (unsigned char &byte : out) byte = static_cast<unsigned char>(random());
    return out;
}

/// The way an all-reduce goes where there are `per_host` workers on each host: plain for one, else along rails.
inline std::unique_ptr<Schedule> make_all_reduce(Link &link, uint64_t tag, const ReduceRow &row, uint32_t per_host,
                                                 Scratch &scratch, uint64_t chunk_elements) {
    if (per_host == 1) return std::make_unique<AllReduce>(link, tag, row, scratch, chunk_elements);
    return std::make_unique<Rails>(link, tag, row, per_host, scratch, chunk_elements);
}

/// One all-reduce of everything a job has, type by type.
inline void reduce_all(Random &random, const ReduceJob &job, const Links &links, uint64_t chunk_elements,
                       uint32_t per_host = 1) {
    const auto parties = static_cast<uint32_t>(links.size());
    std::vector<Scratch> scratch(parties);
    uint64_t tag = 0;
    for (const int32_t dtype : dtypes_of(job.call(0))) {
        std::vector<std::unique_ptr<ReduceRow>> flats;
        for (uint32_t worker = 0; worker < parties; ++worker)
            flats.push_back(std::make_unique<ReduceRow>(job.calls(worker), dtype, job.cut(), worker));
        tag += uint64_t{1} << 32;
        drive(random, parties, [&](uint32_t party) {
            return make_all_reduce(*links[party], tag, *flats[party], per_host, scratch[party], chunk_elements);
        });
    }
}

/// Each party on a thread of its own, sleeping on its link. What each of them threw.
inline std::vector<Failure> drive_in_threads(const Links &links, const Make &make) {
    constexpr uint64_t kLong = 600'000'000'000; // what is not noticed is no slow test, but one that never ends
    std::vector<Failure> failures(links.size(), {MDIST_OK, ""});
    std::vector<std::thread> threads;
    for (uint32_t party = 0; party < links.size(); ++party)
        threads.emplace_back([&, party] {
            failures[party] = failure_of([&] {
                const auto schedule = make(party);
                while (!schedule->advance()) links[party]->wait(kLong);
            });
        });
    for (std::thread &thread : threads) thread.join();
    return failures;
}

/// Advances all, in any order, until none gets further. What each has thrown; OK for those who are done, none for those
/// who wait.
inline std::vector<std::optional<Failure>> run_out(Random &random, const Schedules &schedules) {
    std::vector<std::optional<Failure>> outcomes(schedules.size());
    const std::size_t enough = 60 * schedules.size();
    for (std::size_t i = 0; i < enough; ++i) {
        const std::size_t party = random() % schedules.size();
        if (outcomes[party]) continue;
        bool done = false;
        const Failure failure = failure_of([&] { done = schedules[party]->advance(); });
        if (done || failure.status() != MDIST_OK) outcomes[party] = failure;
    }
    return outcomes;
}

/// Some of the parties are in operation 8, the others in 7. At least two of them are told, and no outcome is another.
inline void check_that_disagreement_is_told(
    Random &random, uint32_t parties,
    const std::function<std::unique_ptr<Schedule>(uint32_t, uint64_t sequence)> &make) {
    const auto odd_one = static_cast<uint32_t>(random() % parties);
    Schedules schedules(parties);
    for (uint32_t party = 0; party < parties; ++party) {
        const bool other = party == odd_one || (party != (odd_one + 1) % parties && random() % 3 == 0);
        schedules[party] = make(party, other ? 8 : 7);
    }
    uint32_t told = 0;
    for (const std::optional<Failure> &outcome : run_out(random, schedules)) {
        if (!outcome) continue;
        assert_int_equal(outcome->status(), MDIST_ERR_MISMATCH);
        ++told;
    }
    assert_true(told >= 2);
}

/// Passes on what goes through it, and counts what goes out.
class CountingLink final : public Link {
  public:
    explicit CountingLink(std::unique_ptr<Link> link) : link_(std::move(link)), sent_(parties()) {}

    uint32_t self() const override { return link_->self(); }
    uint32_t parties() const override { return link_->parties(); }
    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        sent_[peer] += bytes;
        link_->send(peer, tag, data, bytes, pending);
    }
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        link_->receive(peer, tag, data, bytes, pending);
    }
    void progress() override { link_->progress(); }
    void wait(uint64_t timeout_ns) override { link_->wait(timeout_ns); }
    void interrupt() noexcept override { link_->interrupt(); }
    void close() noexcept override { link_->close(); }

    /// To how many workers something went, and how much in all.
    std::size_t peers() const {
        return static_cast<std::size_t>(std::count_if(sent_.begin(), sent_.end(), [](auto sent) { return sent != 0; }));
    }
    uint64_t bytes_to(uint32_t peer) const { return sent_[peer]; }
    uint64_t bytes() const { return std::accumulate(sent_.begin(), sent_.end(), uint64_t{0}); }

  private:
    std::unique_ptr<Link> link_;
    std::vector<uint64_t> sent_;
};

} // namespace mdist
