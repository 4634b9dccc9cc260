// SPDX-License-Identifier: Apache-2.0
// SplitPlan: in any layout, all workers see the same groups, and every piece is summed over all workers, each once.
#include "comm/schedules/split_plan.h"

#include "comm/workers/sizes.h"
#include "subject.h"

#include <bit>
#include <set>
#include <utility>

#include "schedule_support.h"

namespace {

using namespace mdist;

/// Carries out the plan with sets of workers in place of sums.
class Model {
  public:
    Model(const SplitPlan &plan, uint32_t workers) : plan_(plan), workers_(workers) {
        for (uint32_t worker = 0; worker < workers; ++worker)
            held_.emplace_back(plan.pieces(), std::set<uint32_t>{worker});
    }

    void check() {
        uint32_t levels = 0;
        for (uint32_t worker = 0; worker < workers_; ++worker) levels = std::max(levels, plan_.levels(worker));
        for (uint32_t level = 0; level < levels; ++level) split(level);
        std::set<uint32_t> served;
        for (uint32_t piece = 0; piece < plan_.pieces(); ++piece) {
            const uint32_t owner = plan_.owner(piece), resting = plan_.resting(piece);
            assert_int_equal(held_[owner][piece].size(), workers_);
            assert_true(served.insert(owner).second);
            if (resting != SplitPlan::kNobody) assert_true(served.insert(resting).second);
        }
        assert_int_equal(served.size(), workers_);
    }

  private:
    void split(uint32_t level) {
        std::vector<std::vector<std::set<uint32_t>>> kept(workers_);
        for (uint32_t worker = 0; worker < workers_; ++worker) {
            kept[worker].resize(plan_.pieces());
            if (level >= plan_.levels(worker)) continue;
            for (const SplitPlan::Member &member : plan_.group(level, worker)) {
                if (member.worker == worker) keep(level, member, kept[worker]);
                check_mirrored(level, worker, member);
            }
        }
        held_ = std::move(kept);
    }
    /// What a member keeps, of the whole group, is disjoint sets of workers: its whole blocks.
    void keep(uint32_t level, const SplitPlan::Member &self, std::vector<std::set<uint32_t>> &kept) const {
        for (uint32_t piece = self.keeps.begin; piece < self.keeps.end; ++piece)
            for (const SplitPlan::Member &member : plan_.group(level, self.worker)) {
                const std::set<uint32_t> &block = held_[member.worker][piece];
                assert_false(block.empty());
                assert_int_equal(block.size(), *block.rbegin() - *block.begin() + 1);
                assert_int_equal(plan_.cut(level).spans()[member.block].first, *block.begin());
                assert_int_equal(plan_.cut(level).spans()[member.block].last, *block.rbegin() + 1);
                for (const uint32_t worker : block) assert_true(kept[piece].insert(worker).second);
            }
    }
    void check_mirrored(uint32_t level, uint32_t worker, const SplitPlan::Member &member) const {
        uint32_t found = 0;
        for (const SplitPlan::Member &back : plan_.group(level, member.worker)) found += back.worker == worker;
        assert_int_equal(found, 1);
    }

    const SplitPlan &plan_;
    const uint32_t workers_;
    std::vector<std::vector<std::set<uint32_t>>> held_; // by worker, by piece: whose partials are in it
};

void every_piece_is_summed_over_all_workers(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto per_host = static_cast<uint32_t>(1 + random() % 4), hosts = static_cast<uint32_t>(1 + random() % 20);
        const Spans spans = Spans::even(per_host * hosts, 1); // so a span's replicas are workers
        Model(random_plan(random, spans, per_host), per_host * hosts).check();
    }
    for (uint32_t workers = 1; workers <= tiered(70, 300); ++workers) {
        const Spans spans = Spans::even(workers, 1);
        Model({spans, 1, SplitPlan::groups_of(workers, sizes::kLargestGroup)}, workers).check();
    }
}

void hosts_rest_only_beside_large_primes(void **) {
    for (const uint32_t hosts : {11, 13, 17, 19, 22, 23, 99, 143}) {
        const std::vector<uint32_t> groups = SplitPlan::groups_of(hosts, sizes::kLargestGroup);
        assert_int_equal(std::accumulate(groups.begin(), groups.end(), 1u, std::multiplies<>()), hosts);
    }
}

void no_worker_has_many_peers(void **) {
    for (uint32_t hosts = 2; hosts <= 20000; hosts < 300 ? ++hosts : hosts += 1 + hosts / 7) {
        const std::vector<uint32_t> groups = SplitPlan::groups_of(hosts, sizes::kLargestGroup);
        uint32_t product = 1, peers = 1, large = 0; // peers: one that rests meanwhile, and those in small groups
        for (const uint32_t size : groups) {
            product *= size;
            peers += size <= sizes::kLargestGroup ? size - 1 : 0;
            large += size > sizes::kLargestGroup;
            assert_in_range(size, 2, SplitPlan::kLargestPrime);
        }
        assert_in_range(product, hosts / 2 + 1, hosts);
        assert_in_range(peers, 1, 2 * std::bit_width(hosts - 1) + 4);
        assert_in_range(large, 0, 4); // 11 * 11 * 11 * 13
    }
    for (const uint32_t hosts : {64, 100, 1000, 1024}) {
        const Spans spans = Spans::even(hosts, 1);
        const SplitPlan plan(spans, 1, SplitPlan::groups_of(hosts, sizes::kLargestGroup));
        const JoinPlan joins(spans, 1);
        for (uint32_t worker = 0; worker < hosts; ++worker)
            assert_in_range(plan.peers(worker, joins).size(), 1, 3 * std::bit_width(hosts - 1) + 4);
    }
}

/// A header that only one of two sends would be taken for that of the next operation.
void peers_are_each_others(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto per_host = static_cast<uint32_t>(1 + random() % 4), hosts = static_cast<uint32_t>(1 + random() % 20);
        const Spans spans = Spans::even(per_host * hosts, 1);
        const SplitPlan plan = random_plan(random, spans, per_host);
        const JoinPlan joins(spans, per_host, random() % 2 == 0);
        std::set<std::pair<uint32_t, uint32_t>> pairs;
        for (uint32_t worker = 0; worker < spans.workers(); ++worker)
            for (const uint32_t peer : plan.peers(worker, joins)) pairs.insert({worker, peer});
        for (const auto &[worker, peer] : pairs) {
            assert_int_not_equal(worker, peer);
            assert_int_equal(pairs.count({peer, worker}), 1);
        }
    }
}

/// However large the parts are, scratch is bounded: no slice has much of the row, and no message is large.
void slices_of_uneven_parts_are_short(void **) {
    constexpr uint32_t kWorkers = 64;
    constexpr uint64_t kElements = uint64_t{1} << 42, kMessage = 262144 / sizeof(float);
    const Spans spans = Spans::even(kWorkers, 1);
    const reduce::Cut cut(spans);
    const SplitPlan plan(spans, 1, SplitPlan::groups_of(kWorkers, sizes::kLargestGroup));
    const mdist_buffer_t buffer = {nullptr, kElements, MDIST_FLOAT32, 0};
    Call call;
    call.op = MDIST_SUM;
    call.inputs = call.outputs = &buffer;
    call.buffer_count = 1;
    const Call *const calls[] = {&call};
    for (const uint64_t small : {uint64_t{0}, kElements / kWorkers / 100, kElements / kWorkers}) { // all parts but one
        std::vector<uint64_t> parts(kWorkers + 1, kElements);
        for (uint32_t worker = 0; worker < kWorkers; ++worker) parts[worker] = worker * small;
        const ReduceRow row(calls, 0, parts, cut, 0);
        const SplitSlices slices(row, plan, 4, 0);
        assert_in_range(slices.most({0, kWorkers}), kMessage / 2, kMessage * (plan.messages() + 2));
        for (uint32_t piece = 0; piece < kWorkers; ++piece) {
            assert_in_range(slices.most({piece, piece + 1}), small != 0, kMessage);
            for (const uint64_t slice : {uint64_t{0}, slices.count() / 2, slices.count() - 1})
                assert_in_range(slices.elements({piece, piece + 1}, slice), 0, slices.most({piece, piece + 1}));
        }
    }
}

} // namespace

SUBJECT(split_plan) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_summed_over_all_workers),
        cmocka_unit_test(hosts_rest_only_beside_large_primes),
        cmocka_unit_test(no_worker_has_many_peers),
        cmocka_unit_test(peers_are_each_others),
        cmocka_unit_test(slices_of_uneven_parts_are_short),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
