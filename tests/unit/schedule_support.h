// SPDX-License-Identifier: Apache-2.0
// Driving schedules of all parties at once: in a random order on one thread, which is repeatable, or each on its own.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/direct_agreement.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/split_sum.h"
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

inline Link::Message message_of(const std::vector<unsigned char> &bytes) {
    return {bytes.data(), bytes.size()};
}

inline std::vector<unsigned char> random_bytes(Random &random, std::size_t bytes) {
    std::vector<unsigned char> out(bytes);
    for (unsigned char &byte : out) byte = static_cast<unsigned char>(random());
    return out;
}

/// Any sizes of groups in which that many hosts may split a sum.
inline std::vector<uint32_t> random_groups(Random &random, uint32_t hosts) {
    uint32_t left = hosts - static_cast<uint32_t>(random() % ((hosts + 1) / 2)); // the others rest
    std::vector<uint32_t> groups;
    while (left > 1) {
        uint32_t size = 2 + static_cast<uint32_t>(random() % (left - 1));
        while (left % size != 0) ++size;
        groups.push_back(size);
        left /= size;
    }
    return groups;
}

/// All that a job of so many workers, with `per_host` on each host, may be split by.
inline SplitPlan random_plan(Random &random, const Spans &spans, uint32_t per_host) {
    return {spans, per_host, random_groups(random, spans.workers() / per_host)};
}

/// One group of all workers.
inline SplitPlan plan_of_one_group(const Spans &spans) {
    return {spans, 1, {spans.workers()}};
}

/// Passes on what goes through it, and counts it.
class CountingLink final : public Link {
  public:
    explicit CountingLink(std::unique_ptr<Link> link) : link_(std::move(link)), sent_(parties()) {}

    uint32_t self() const override { return link_->self(); }
    uint32_t parties() const override { return link_->parties(); }
    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        sent_[peer] += bytes;
        ++sends_;
        sends_behind_ += tag >> 32 != 0;
        link_->send(peer, tag, data, bytes, pending);
    }
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        receives_behind_ += tag >> 32 != 0;
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
    uint64_t sends() const { return sends_; }
    // Of these, and of the receives, those of messages that are not an agreement's, which has low tags.
    uint64_t sends_behind() const { return sends_behind_; }
    uint64_t receives_behind() const { return receives_behind_; }

  private:
    std::unique_ptr<Link> link_;
    std::vector<uint64_t> sent_;
    uint64_t sends_ = 0, sends_behind_ = 0, receives_behind_ = 0;
};

/// The whole operation of a sum whose first partials follow the headers. Nothing is received, and no output changes,
/// before the headers of all peers are there.
class BehindHeaders final : public Schedule {
  public:
    BehindHeaders(Link &link, const OperationHeader &header, const std::vector<uint32_t> &peers, const ReduceRow &row,
                  const SplitPlan &plan, Scratch &scratch, uint64_t slice)
        : agreement_(link, header, {}, peers),
          sum_(link, header.sequence << 32, row, plan, scratch, Start::kBehindHeaders, slice) {}

    bool advance() override {
        if (!agreed_) {
            if (!agreement_.advance()) return false;
            agreed_ = true;
            if (when_agreed) when_agreed();
            sum_.begin();
        }
        return sum_.advance();
    }

    std::function<void()> when_agreed; // called when all peers have come, before anything is received

  private:
    DirectAgreement agreement_;
    SplitSum sum_;
    bool agreed_ = false;
};

/// How a large sum begins: with nothing in front, behind headers to all, or to those that the plan names.
enum class Headers { kNone, kToAll, kToPeers };

inline std::unique_ptr<Schedule> make_split_sum(Link &link, const OperationHeader &header, const ReduceRow &row,
                                                const SplitPlan &plan, const JoinPlan &joins, Scratch &scratch,
                                                uint64_t slice, Headers headers) {
    if (headers == Headers::kNone)
        return std::make_unique<SplitSum>(link, header.sequence << 32, row, plan, scratch, Start::kNow, slice);
    std::vector<uint32_t> peers; // all
    if (headers == Headers::kToPeers) peers = plan.peers(link.self(), joins);
    return std::make_unique<BehindHeaders>(link, header, peers, row, plan, scratch, slice);
}

/// One all-reduce of everything a job has, type by type.
inline void reduce_all(Random &random, const ReduceJob &job, const Links &links, uint64_t slice, const SplitPlan &plan,
                       Headers headers = Headers::kNone) {
    const auto parties = static_cast<uint32_t>(links.size());
    const JoinPlan joins(job.spans(), 1);
    std::vector<Scratch> scratch(parties);
    uint64_t sequence = 0;
    for (const int32_t dtype : dtypes_of(job.call(0))) {
        std::vector<std::unique_ptr<ReduceRow>> flats;
        for (uint32_t worker = 0; worker < parties; ++worker)
            flats.push_back(std::make_unique<ReduceRow>(job.calls(worker), dtype, job.cut(), worker));
        const OperationHeader header = OperationHeader::of(job.call(0), ++sequence, 0);
        drive(random, parties, [&](uint32_t party) {
            return make_split_sum(*links[party], header, *flats[party], plan, joins, scratch[party], slice, headers);
        });
    }
}

inline Headers random_headers(Random &random) {
    return static_cast<Headers>(random() % 3);
}

/// The numbers of workers that each host may have.
inline std::vector<uint32_t> ways_to_share(uint32_t workers) {
    std::vector<uint32_t> ways;
    for (uint32_t per_host = 1; per_host <= workers; ++per_host)
        if (workers % per_host == 0) ways.push_back(per_host);
    return ways;
}

/// Turns an all-reduce into a reduce_scatter of its one buffer: outputs are uneven parts of what they were.
inline std::vector<uint64_t> scatter(Random &random, const ReduceJob &job, uint32_t replicas, bool in_place) {
    const uint64_t elements = job.call(0).inputs[0].elements;
    std::vector<uint64_t> parts(replicas + 1, elements);
    for (uint32_t replica = 0; replica < replicas; ++replica) parts[replica] = random() % (elements + 1);
    parts[0] = 0;
    std::sort(parts.begin(), parts.end());
    for (uint32_t replica = 0; replica < replicas; ++replica) {
        auto &output = const_cast<mdist_buffer_t &>(job.call(replica).outputs[0]);
        output.elements = parts[replica + 1] - parts[replica];
        if (in_place) output.data = static_cast<char *>(output.data) + parts[replica] * dtype_size(output.dtype);
    }
    return parts;
}

/// Whether every replica has its part after scatter().
inline void check_scattered(const ReduceJob &job, const std::vector<uint64_t> &parts, uint32_t seed) {
    for (uint32_t replica = 0; replica < job.spans().replicas(); ++replica) {
        const mdist_buffer_t &output = job.call(replica).outputs[0];
        const std::size_t size = dtype_size(output.dtype);
        if (output.elements != 0 &&
            std::memcmp(output.data, job.expected(0).data() + parts[replica] * size, output.elements * size) != 0)
            fail_msg("seed %u: replica %u", seed, replica);
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
    constexpr uint32_t kEnough = 20; // each time all advance, every message that is under way arrives
    std::vector<std::optional<Failure>> outcomes(schedules.size());
    std::vector<std::size_t> order(schedules.size());
    std::iota(order.begin(), order.end(), 0);
    for (uint32_t i = 0; i < kEnough; ++i) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t party : order) {
            if (outcomes[party]) continue;
            bool done = false;
            const Failure failure = failure_of([&] { done = schedules[party]->advance(); });
            if (done || failure.status() != MDIST_OK) outcomes[party] = failure;
        }
    }
    return outcomes;
}

} // namespace mdist
