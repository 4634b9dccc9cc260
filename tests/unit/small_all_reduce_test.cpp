// SPDX-License-Identifier: Apache-2.0
// Small all-reduces by joining blocks: the bits of the reference for every layout, few messages, and nobody taken in by
// a worker that does something else, whoever that is and whoever talks to it.
#include "comm/schedules/small_all_reduce.h"
#include "comm/schedules/small_exchange.h"
#include "inproc.h"
#include "subject.h"

#include <memory>

#include "schedule_support.h"

namespace {

using namespace mdist;
using Way = JoinPlan::Way;

constexpr Way kWays[] = {Way::kTwoByTwo, Way::kAllAtOnce};

std::vector<ReduceRow> rows_of(const ReduceJob &job, uint32_t worker) {
    std::vector<ReduceRow> rows;
    for (const int32_t dtype : dtypes_of(job.call(0))) rows.emplace_back(job.calls(worker), dtype, job.cut(), worker);
    return rows;
}

/// What all parties of a job need for a small all-reduce.
struct Parties {
    Parties(const ReduceJob &job, uint32_t count, uint32_t per_host = 1, Way usual = Way::kTwoByTwo)
        : way(usual),
          two_by_two(job.spans(), per_host, true, Way::kTwoByTwo),
          all_at_once(job.spans(), per_host, true, Way::kAllAtOnce),
          scratch(count) {
        for (uint32_t worker = 0; worker < count; ++worker) rows.push_back(rows_of(job, worker));
    }
    std::unique_ptr<SmallAllReduce> make(Link &link, const OperationHeader &header) { return make(link, header, way); }
    std::unique_ptr<SmallAllReduce> make(Link &link, const OperationHeader &header, Way chosen) {
        const JoinPlan &plan = chosen == Way::kTwoByTwo ? two_by_two : all_at_once;
        return std::make_unique<SmallAllReduce>(link, header, plan, rows[link.self()], scratch[link.self()]);
    }

    const Way way; // unless another is chosen
    const JoinPlan two_by_two, all_at_once;
    std::vector<std::vector<ReduceRow>> rows;
    std::vector<Scratch> scratch;
};

void check(Random &random, const Spans &spans, uint32_t per_host, Way way, const std::vector<BufferShape> &shapes,
           reduce::Op op) {
    const uint32_t workers = spans.workers();
    const ReduceJob job(random, spans, op, shapes, random() % 2 == 0);
    const Links links = make_inproc_links(workers);
    Parties parties(job, workers, per_host, way);
    drive(random, workers,
          [&](uint32_t party) { return parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0)); });
    for (uint32_t worker = 0; worker < workers; ++worker)
        if (!job.right(worker))
            fail_msg("%s replicas, %u workers on each host, way %d, op %d, first of %s: worker %u has wrong results",
                     text_of(spans).c_str(), per_host, static_cast<int>(way), static_cast<int>(op),
                     dtype_name(shapes[0].dtype), worker);
}

/// The numbers of workers that each host may have.
std::vector<uint32_t> ways_to_share(uint32_t workers) {
    std::vector<uint32_t> ways;
    for (uint32_t per_host = 1; per_host <= workers; ++per_host)
        if (workers % per_host == 0) ways.push_back(per_host);
    return ways;
}

void every_layout_dtype_and_op_gives_the_bits_of_the_reference(void **) {
    Random random(test_seed(1));
    std::vector<Spans> layouts;
    for (uint32_t workers = 1; workers <= 9; ++workers)
        for (uint32_t each = 1; each <= 3; ++each) layouts.push_back(Spans::even(workers, each));
    for (const uint32_t replicas : {3, 5, 7})
        for (const Spans &spans : all_spans(replicas)) layouts.push_back(spans);
    for (const Spans &spans : layouts)
        for (const int32_t dtype : kAllDtypes)
            for (int op = MDIST_SUM; op <= MDIST_XOR; ++op)
                for (const uint32_t per_host : ways_to_share(spans.workers()))
                    for (const Way way : kWays)
                        if (takes(op, dtype))
                            check(random, spans, per_host, way, {{dtype, 1 + random() % 300}},
                                  static_cast<reduce::Op>(op));
}

void any_buffers_among_many_workers_give_the_bits_of_the_reference(void **) {
    for (const uint32_t seed : seeds(300, 5000)) {
        Random random(seed);
        const reduce::Op op = random_op(random);
        const auto workers = static_cast<uint32_t>(1 + random() % 35);
        const std::vector<uint32_t> ways = ways_to_share(workers);
        check(random, random_spans(random, workers, 6), ways[random() % ways.size()], kWays[random() % 2],
              random_shapes(random, op, random() % 4 == 0 ? 3000 : 60), op);
    }
}

void a_power_of_two_of_workers_gives_one_message_a_round_each(void **) {
    constexpr uint64_t kElements = 1024;
    for (const auto &[workers, messages] : {std::pair<uint32_t, uint32_t>{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
        Random random(test_seed(1));
        const ReduceJob job(random, Spans::even(workers, 2), reduce::Op::kSum, {{MDIST_FLOAT32, kElements}}, true);
        Links links;
        for (auto &link : make_inproc_links(workers)) links.push_back(std::make_unique<CountingLink>(std::move(link)));
        Parties parties(job, workers);
        drive(random, workers,
              [&](uint32_t party) { return parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0)); });
        for (const auto &link : links) {
            const auto &counting = dynamic_cast<const CountingLink &>(*link);
            assert_int_equal(counting.peers(), messages);
            assert_int_equal(counting.bytes(), messages * (kElements * sizeof(float) + sizeof(OperationHeader)));
        }
    }
}

/// The mates of a host give and take one message each, and the host gives one in each round among hosts.
void the_messages_of_hosts_are_few(void **) {
    constexpr uint64_t kElements = 1024;
    constexpr uint64_t kBytes = kElements * sizeof(float) + sizeof(OperationHeader);
    for (const auto &[hosts, per_host, joins] :
         {std::tuple<uint32_t, uint32_t, uint32_t>{2, 4, 1}, {4, 2, 2}, {4, 4, 2}}) {
        Random random(test_seed(1));
        const uint32_t workers = hosts * per_host;
        const ReduceJob job(random, Spans::even(workers, 2), reduce::Op::kSum, {{MDIST_FLOAT32, kElements}}, true);
        Links links;
        for (auto &link : make_inproc_links(workers)) links.push_back(std::make_unique<CountingLink>(std::move(link)));
        Parties parties(job, workers, per_host);
        drive(random, workers,
              [&](uint32_t party) { return parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0)); });
        for (uint32_t worker = 0; worker < workers; ++worker) {
            const auto &counting = dynamic_cast<const CountingLink &>(*links[worker]);
            assert_int_equal(counting.bytes(), (worker % per_host == 0 ? per_host - 1 + joins : 1) * kBytes);
        }
    }
}

/// All at once, a worker sends each byte of a segment once, and each byte of its result once to each other one.
void all_at_once_takes_as_few_bytes_as_segments(void **) {
    constexpr uint64_t kBytes = 8192;
    for (const uint32_t workers : {2, 4, 8}) {
        Random random(test_seed(1));
        const ReduceJob job(random, Spans::even(workers, 2), reduce::Op::kSum, {{MDIST_FLOAT32, kBytes / 4}}, true);
        Links links;
        for (auto &link : make_inproc_links(workers)) links.push_back(std::make_unique<CountingLink>(std::move(link)));
        Parties parties(job, workers, 1, Way::kAllAtOnce);
        drive(random, workers,
              [&](uint32_t party) { return parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0)); });
        for (const auto &link : links)
            assert_int_equal(dynamic_cast<const CountingLink &>(*link).bytes(),
                             2 * (workers - 1) * (kBytes / workers + sizeof(OperationHeader)));
    }
}

bool gets(const JoinPlan::Workers &to, uint32_t worker) {
    for (uint32_t i = 0; i < to.count; ++i)
        if (to[i] == worker) return true;
    return false;
}

/// Whoever takes is given to. In the rounds that join, nobody gets what it has. At last everybody has everything. No
/// worker sends more messages than all to all would (all at once: twice as many), and two workers meet at most once
/// each way (all at once: twice).
void check_plan(uint32_t workers, uint32_t per_host, Way way) {
    const JoinPlan plan(Spans::even(workers, 1), per_host, true, way);
    const uint32_t times = plan.segments() > 1 ? 2 : 1;
    // What each worker has: of each worker, the partials of each segment. Whoever has all workers' has the result.
    using Held = std::vector<std::vector<bool>>; // by segment, by worker
    std::vector<Held> have(workers, Held(plan.segments(), std::vector<bool>(workers, false)));
    for (uint32_t worker = 0; worker < workers; ++worker)
        for (std::vector<bool> &segment : have[worker]) segment[worker] = true;
    std::vector<std::vector<uint32_t>> met(workers, std::vector<uint32_t>(workers, 0));
    std::vector<uint32_t> sent(workers, 0);
    for (uint32_t round = 0; round < plan.rounds(); ++round) {
        const auto before = have;
        uint32_t given = 0, taken = 0;
        for (uint32_t worker = 0; worker < workers; ++worker) {
            const auto [from, to] = plan.part(round, worker);
            given += to.count, sent[worker] += to.count, taken += from.count;
            for (uint32_t i = 0; i < from.count; ++i) {
                assert_true(gets(plan.part(round, from[i]).to, worker));
                assert_true(++met[from[i]][worker] <= times);
                for (uint32_t segment = 0; segment < plan.segments(); ++segment) {
                    if (plan.gives_segments(round) && segment != plan.segment(worker)) continue;
                    if (plan.gives_again(round) && segment != plan.segment(from[i])) continue;
                    for (uint32_t other = 0; other < workers; ++other) {
                        const bool comes = before[from[i]][segment][other];
                        assert_false(round < plan.joins() && comes && have[worker][segment][other]);
                        have[worker][segment][other] = have[worker][segment][other] || comes;
                    }
                }
            }
        }
        assert_int_equal(given, taken);
    }
    for (uint32_t worker = 0; worker < workers; ++worker) {
        for (const std::vector<bool> &segment : have[worker])
            assert_int_equal(std::count(segment.begin(), segment.end(), true), workers);
        assert_true(sent[worker] < times * workers);
    }
}

void a_plan_gives_everything_to_everybody(void **) {
    for (uint32_t workers = 1; workers <= 70; ++workers)
        for (const uint32_t per_host : ways_to_share(workers))
            for (const Way way : kWays) check_plan(workers, per_host, way);
}

// ---- Workers that do not do the same

/// All but one are in an all-reduce. Links stay open, so that nobody fails by another's failure. The culprit may do it
/// in another way, as it would with other bytes.
void check_culprit(uint32_t workers, uint32_t per_host, Way way, uint32_t culprit, bool reduces, Way culprits) {
    Random random(workers * 100 + culprit);
    const ReduceJob job(random, Spans::even(workers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(workers);
    Parties parties(job, workers, per_host, way);
    Call other; // a barrier, or all-reduces that differ in the op alone
    other.kind = &calls::kBarrier;
    if (reduces) other = job.call(culprit), other.op = MDIST_MAX;
    Schedules schedules(workers);
    for (uint32_t party = 0; party < workers; ++party) {
        const OperationHeader header = OperationHeader::of(party == culprit ? other : job.call(party), 7, 0);
        if (party == culprit && !reduces)
            schedules[party] = std::make_unique<SmallExchange>(*links[party], header, nullptr);
        else
            schedules[party] = parties.make(*links[party], header, party == culprit ? culprits : way);
    }
    const auto outcomes = run_out(random, schedules);
    bool told = false;
    for (uint32_t party = 0; party < workers; ++party) {
        if (!outcomes[party]) continue; // it will hear of it from others
        const Failure &failure = *outcomes[party];
        assert_int_equal(failure.status(), MDIST_ERR_MISMATCH);
        assert_true(party == culprit || failure.worker() == culprit);
        assert_non_null(std::strstr(failure.what(), "mdist_all_reduce(SUM"));
        assert_non_null(std::strstr(failure.what(), reduces ? "mdist_all_reduce(MAX" : "mdist_barrier()"));
        told |= party != culprit;
    }
    // Only the first worker of a host looks at what its mates call. They hear of it from the membership.
    const bool by_hosts = per_host > 1 && per_host < workers;
    if (by_hosts && reduces && culprit % per_host == 0) told |= outcomes[culprit].has_value();
    if (!by_hosts || culprit % per_host == 0) assert_true(outcomes[culprit].has_value());
    if (!told) fail_msg("%u workers, %u on each host, culprit %u, reduces %d", workers, per_host, culprit, reduces);
}

void a_worker_in_another_operation_or_one_that_meets_it_says_so(void **) {
    for (uint32_t workers = 2; workers <= 9; ++workers) {
        for (const uint32_t per_host : ways_to_share(workers)) {
            for (uint32_t culprit = 0; culprit < workers; ++culprit) {
                for (const Way way : kWays) {
                    for (const Way culprits : kWays) check_culprit(workers, per_host, way, culprit, true, culprits);
                    check_culprit(workers, per_host, way, culprit, false, way);
                }
            }
        }
    }
}

/// Any split into two camps, each of which has its way.
void nobody_gets_through_where_two_disagree(void **) {
    for (const uint32_t seed : seeds(300, 5000)) {
        Random random(seed);
        const auto workers = static_cast<uint32_t>(2 + random() % 12);
        const std::vector<uint32_t> ways = ways_to_share(workers);
        const uint32_t per_host = ways[random() % ways.size()];
        const ReduceJob job(random, Spans::even(workers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
        const Links links = make_inproc_links(workers);
        Parties parties(job, workers, per_host);
        const Way camps[] = {kWays[random() % 2], kWays[random() % 2]};
        const auto odd_one = static_cast<uint32_t>(random() % workers);
        Schedules schedules(workers);
        for (uint32_t party = 0; party < workers; ++party) {
            const bool other = party == odd_one || (party != (odd_one + 1) % workers && random() % 3 == 0);
            schedules[party] =
                parties.make(*links[party], OperationHeader::of(job.call(0), other ? 8 : 7, 0), camps[other]);
        }
        uint32_t told = 0;
        for (const std::optional<Failure> &outcome : run_out(random, schedules)) {
            if (!outcome) continue;
            assert_int_equal(outcome->status(), MDIST_ERR_MISMATCH);
            ++told;
        }
        assert_true(told >= (per_host == 1 || per_host == workers ? 2 : 1));
    }
}

void who_has_come_is_known_of_whole_blocks(void **) {
    constexpr uint32_t kWorkers = 8, kLate = 5;
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(kWorkers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(kWorkers);
    Parties parties(job, kWorkers);
    std::vector<std::unique_ptr<SmallAllReduce>> parts(kWorkers);
    for (uint32_t party = 0; party < kWorkers; ++party)
        if (party != kLate) parts[party] = parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0));
    for (int i = 0; i < 10; ++i)
        for (const auto &part : parts) assert_false(part && part->advance());
    for (uint32_t party = 0; party < 4; ++party)
        for (uint32_t other = 0; other < kWorkers; ++other) assert_int_equal(parts[party]->has_come(other), other < 4);
    assert_true(parts[6]->has_come(7));
    assert_false(parts[6]->has_come(4) || parts[6]->has_come(kLate) || parts[4]->has_come(kLate));
}

/// Two hosts of two: only the first worker of each hears from others before the result.
void who_has_come_is_known_to_those_who_speak(void **) {
    constexpr uint32_t kWorkers = 4, kLate = 3;
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(kWorkers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(kWorkers);
    Parties parties(job, kWorkers, 2);
    std::vector<std::unique_ptr<SmallAllReduce>> parts(kLate);
    for (uint32_t party = 0; party < kLate; ++party)
        parts[party] = parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0));
    for (int i = 0; i < 10; ++i)
        for (const auto &part : parts) assert_false(part->advance());
    assert_true(parts[0]->has_come(1));
    assert_false(parts[0]->has_come(2) || parts[0]->has_come(kLate));
    assert_true(parts[2]->has_come(0) && parts[2]->has_come(1));
    assert_false(parts[2]->has_come(kLate) || parts[1]->has_come(0));
}

void outputs_keep_their_bytes_until_results_come(void **) {
    constexpr uint32_t kWorkers = 4, kMate = 1;
    for (const Way way : kWays) {
        Random random(test_seed(1));
        const ReduceJob job(random, Spans::even(kWorkers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 300}}, false);
        const Links links = make_inproc_links(kWorkers);
        Parties parties(job, kWorkers, 2, way);
        char *const output = static_cast<char *>((*job.calls(kMate))->outputs[0].data);
        std::fill(output, output + 300 * sizeof(float), '\x5a');
        const auto mate = parties.make(*links[kMate], OperationHeader::of(job.call(0), 7, 0));
        for (int i = 0; i < 3; ++i) assert_false(mate->advance());
        assert_true(std::all_of(output, output + 300 * sizeof(float), [](char byte) { return byte == '\x5a'; }));
    }
}

void bytes_that_are_not_due_are_refused(void **) {
    const Links links = make_inproc_links(2);
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(2, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    Parties parties(job, 2);
    const auto mine = parties.make(*links[0], OperationHeader::of(job.call(0), 7, 0));
    const OperationHeader huge = OperationHeader::of(job.call(0), 7, uint64_t{1} << 60);
    Pending pending;
    links[1]->send(0, 1, &huge, sizeof huge, pending);
    const Failure failure = failure_of([&] { mine->advance(); });
    assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
    assert_int_equal(failure.worker(), 1);
}

} // namespace

SUBJECT(small_all_reduce) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_dtype_and_op_gives_the_bits_of_the_reference),
        cmocka_unit_test(any_buffers_among_many_workers_give_the_bits_of_the_reference),
        cmocka_unit_test(a_power_of_two_of_workers_gives_one_message_a_round_each),
        cmocka_unit_test(the_messages_of_hosts_are_few),
        cmocka_unit_test(all_at_once_takes_as_few_bytes_as_segments),
        cmocka_unit_test(a_plan_gives_everything_to_everybody),
        cmocka_unit_test(a_worker_in_another_operation_or_one_that_meets_it_says_so),
        cmocka_unit_test(nobody_gets_through_where_two_disagree),
        cmocka_unit_test(who_has_come_is_known_of_whole_blocks),
        cmocka_unit_test(who_has_come_is_known_to_those_who_speak),
        cmocka_unit_test(outputs_keep_their_bytes_until_results_come),
        cmocka_unit_test(bytes_that_are_not_due_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
