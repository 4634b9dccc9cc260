// SPDX-License-Identifier: Apache-2.0
// Sums along the tree: the bits of the reference for every layout, few messages, and nobody taken in by a worker that
// does something else, whoever that is and whoever talks to it. (Camps in different kinds of agreement are in
// call_agreement_test.cpp.)
#include "comm/schedules/tree_sum.h"
#include "inproc.h"
#include "subject.h"

#include <memory>

#include "collective_job.h"
#include "schedule_support.h"

namespace {

using namespace mdist;

std::vector<ReduceRow> rows_of(const ReduceJob &job, uint32_t worker) {
    std::vector<ReduceRow> rows;
    for (const int32_t dtype : dtypes_of(job.call(0))) rows.emplace_back(job.calls(worker), dtype, job.cut(), worker);
    return rows;
}

/// What all parties of a job need for a sum along the tree.
struct Parties {
    Parties(const ReduceJob &job, uint32_t count, uint32_t per_host = 1) : plan(job.spans(), per_host), scratch(count) {
        for (uint32_t worker = 0; worker < count; ++worker) rows.push_back(rows_of(job, worker));
    }
    std::unique_ptr<TreeSum> make(Link &link, const OperationHeader &header) {
        return std::make_unique<TreeSum>(link, header, plan, rows[link.self()], scratch[link.self()]);
    }

    const JoinPlan plan;
    std::vector<std::vector<ReduceRow>> rows;
    std::vector<Scratch> scratch;
};

void check(Random &random, const Spans &spans, uint32_t per_host, const std::vector<BufferShape> &shapes,
           reduce::Op op) {
    const uint32_t workers = spans.workers();
    const ReduceJob job(random, spans, op, shapes, random() % 2 == 0);
    const Links links = make_inproc_links(workers);
    Parties parties(job, workers, per_host);
    drive(random, workers,
          [&](uint32_t party) { return parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0)); });
    for (uint32_t worker = 0; worker < workers; ++worker)
        if (!job.right(worker))
            fail_msg("%s replicas, %u workers on each host, op %d, first of %s: worker %u has wrong results",
                     text_of(spans).c_str(), per_host, static_cast<int>(op), dtype_name(shapes[0].dtype), worker);
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
                    if (takes(op, dtype))
                        check(random, spans, per_host, {{dtype, 1 + random() % 300}}, static_cast<reduce::Op>(op));
}

void any_buffers_among_many_workers_give_the_bits_of_the_reference(void **) {
    for (const uint32_t seed : seeds(300, 5000)) {
        Random random(seed);
        const reduce::Op op = random_op(random);
        const auto workers = static_cast<uint32_t>(1 + random() % 35);
        const std::vector<uint32_t> ways = ways_to_share(workers);
        check(random, random_spans(random, workers, 6), ways[random() % ways.size()],
              random_shapes(random, op, random() % 4 == 0 ? 3000 : 60), op);
    }
}

/// Sums of which each replica takes a part, or one takes all.
void check_parts(Random &random, const CallFunction &function, const Spans &spans, uint32_t per_host) {
    const uint32_t workers = spans.workers();
    CollectiveJob job(random, function, spans.replicas(), random() % 8 == 0 ? 3000 : 40);
    job.forget();
    const JoinPlan plan(spans, per_host);
    std::vector<std::vector<ReduceRow>> rows(workers);
    for (uint32_t worker = 0; worker < workers; ++worker) {
        for (std::size_t b = 0; b < job.call(0).buffer_count; ++b) {
            std::vector<uint64_t> parts(1);
            for (uint32_t replica = 0; replica < spans.replicas(); ++replica)
                parts.push_back(parts.back() + job.call(replica).outputs[b].elements);
            rows[worker].emplace_back(job.calls() + spans[worker].first, b, parts, plan.cut(0), worker);
        }
    }
    const Links links = make_inproc_links(workers);
    std::vector<Scratch> scratch(workers);
    drive(random, workers, [&](uint32_t party) {
        return std::make_unique<TreeSum>(*links[party], OperationHeader::of(job.call(0), 7, 0), plan, rows[party],
                                         scratch[party]);
    });
    for (uint32_t replica = 0; replica < job.replicas(); ++replica)
        if (!job.right(replica))
            fail_msg("%s, %s replicas, %u workers on each host: replica %u has wrong results", function.name(),
                     text_of(spans).c_str(), per_host, replica);
}

void rows_that_scatter_give_what_the_definition_says(void **) {
    for (const uint32_t seed : seeds(600, 6000)) {
        Random random(seed);
        const auto workers = static_cast<uint32_t>(1 + random() % 20);
        const std::vector<uint32_t> ways = ways_to_share(workers);
        check_parts(random, seed % 3 == 0 ? calls::kReduceToRoot : calls::kReduceScatter,
                    random_spans(random, workers, 4), ways[random() % ways.size()]);
    }
}

/// The output of each replica is its part of what was its input.
void parts_in_place_get_the_bits_of_the_reference(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto workers = static_cast<uint32_t>(1 + random() % 9);
        const reduce::Op op = random_op(random);
        int32_t dtype = 0;
        do dtype = kAllDtypes[random() % std::size(kAllDtypes)];
        while (!takes(op, dtype));
        const ReduceJob job(random, random_spans(random, workers, 4), op, {{dtype, 1 + random() % 500}}, true);
        const std::vector<uint64_t> parts = scatter(random, job, job.spans().replicas(), true);
        const std::vector<uint32_t> ways = ways_to_share(workers);
        const JoinPlan plan(job.spans(), ways[random() % ways.size()]);
        std::vector<std::vector<ReduceRow>> rows(workers);
        for (uint32_t worker = 0; worker < workers; ++worker)
            rows[worker].emplace_back(job.calls(worker), 0, parts, job.cut(), worker);
        const Links links = make_inproc_links(workers);
        std::vector<Scratch> scratch(workers);
        drive(random, workers, [&](uint32_t party) {
            return std::make_unique<TreeSum>(*links[party], OperationHeader::of(job.call(0), 7, 0), plan, rows[party],
                                             scratch[party]);
        });
        check_scattered(job, parts, seed);
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

bool gets(const JoinPlan::Workers &to, uint32_t worker) {
    for (uint32_t i = 0; i < to.count; ++i)
        if (to[i] == worker) return true;
    return false;
}

/// Whoever takes is given to. In the rounds that join, nobody gets what it has. At last everybody has everything. No
/// worker sends more messages than all to all would, and two workers meet at most once each way.
void check_plan(uint32_t workers, uint32_t per_host) {
    const JoinPlan plan(Spans::even(workers, 1), per_host);
    // Of each worker: whose partials it has. Whoever has all workers' has the result.
    std::vector<std::vector<bool>> have(workers, std::vector<bool>(workers, false));
    for (uint32_t worker = 0; worker < workers; ++worker) have[worker][worker] = true;
    std::vector<std::vector<bool>> met(workers, std::vector<bool>(workers, false));
    std::vector<uint32_t> sent(workers, 0);
    for (uint32_t round = 0; round < plan.rounds(); ++round) {
        const auto before = have;
        uint32_t given = 0, taken = 0;
        for (uint32_t worker = 0; worker < workers; ++worker) {
            const auto [from, to] = plan.part(round, worker);
            given += to.count, sent[worker] += to.count, taken += from.count;
            for (uint32_t i = 0; i < from.count; ++i) {
                assert_true(gets(plan.part(round, from[i]).to, worker));
                assert_false(met[from[i]][worker]);
                met[from[i]][worker] = true;
                for (uint32_t other = 0; other < workers; ++other) {
                    const bool comes = before[from[i]][other];
                    assert_false(round < plan.joins() && comes && have[worker][other]);
                    have[worker][other] = have[worker][other] || comes;
                }
            }
        }
        assert_int_equal(given, taken);
    }
    for (uint32_t worker = 0; worker < workers; ++worker) {
        assert_int_equal(std::count(have[worker].begin(), have[worker].end(), true), workers);
        assert_true(sent[worker] < workers);
    }
}

void a_plan_gives_everything_to_everybody(void **) {
    for (uint32_t workers = 1; workers <= 70; ++workers)
        for (const uint32_t per_host : ways_to_share(workers)) check_plan(workers, per_host);
}

// ---- Workers that do not do the same

/// All but one are in an all-reduce. Links stay open, so that nobody fails by another's failure.
void check_culprit(uint32_t workers, uint32_t per_host, uint32_t culprit, bool reduces) {
    Random random(workers * 100 + culprit);
    const ReduceJob job(random, Spans::even(workers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(workers);
    Parties parties(job, workers, per_host);
    Call other; // a barrier, or all-reduces that differ in the op alone
    other.kind = &calls::kBarrier;
    if (reduces) other = job.call(culprit), other.op = MDIST_MAX;
    Schedules schedules(workers);
    for (uint32_t party = 0; party < workers; ++party) {
        const OperationHeader header = OperationHeader::of(party == culprit ? other : job.call(party), 7, 0);
        if (party == culprit && !reduces)
            schedules[party] = std::make_unique<DirectAgreement>(*links[party], header, Link::Message());
        else
            schedules[party] = parties.make(*links[party], header);
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
    for (uint32_t workers = 2; workers <= 9; ++workers)
        for (const uint32_t per_host : ways_to_share(workers))
            for (uint32_t culprit = 0; culprit < workers; ++culprit)
                for (const bool reduces : {true, false}) check_culprit(workers, per_host, culprit, reduces);
}

void who_has_come_is_known_of_whole_blocks(void **) {
    constexpr uint32_t kWorkers = 8, kLate = 5;
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(kWorkers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(kWorkers);
    Parties parties(job, kWorkers);
    std::vector<std::unique_ptr<TreeSum>> parts(kWorkers);
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
    std::vector<std::unique_ptr<TreeSum>> parts(kLate);
    for (uint32_t party = 0; party < kLate; ++party)
        parts[party] = parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0));
    for (int i = 0; i < 10; ++i)
        for (const auto &part : parts) assert_false(part->advance());
    assert_true(parts[0]->has_come(1));
    assert_false(parts[0]->has_come(2) || parts[0]->has_come(kLate));
    assert_true(parts[2]->has_come(0) && parts[2]->has_come(1));
    assert_false(parts[2]->has_come(kLate) || parts[1]->has_come(0));
}

/// The worker that joins last has not come.
void outputs_keep_their_bytes_until_results_come(void **) {
    constexpr uint32_t kWorkers = 4, kLast = 3;
    for (const uint32_t per_host : {1, 2}) {
        Random random(test_seed(1));
        const ReduceJob job(random, Spans::even(kWorkers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 300}}, false);
        const Links links = make_inproc_links(kWorkers);
        Parties parties(job, kWorkers, per_host);
        const auto output_of = [&](uint32_t worker) {
            return static_cast<char *>((*job.calls(worker))->outputs[0].data);
        };
        std::vector<std::unique_ptr<TreeSum>> parts;
        for (uint32_t worker = 0; worker < kLast; ++worker) {
            std::fill(output_of(worker), output_of(worker) + 300 * sizeof(float), '\x5a');
            parts.push_back(parties.make(*links[worker], OperationHeader::of(job.call(0), 7, 0)));
        }
        for (int i = 0; i < 5; ++i)
            for (const auto &part : parts) assert_false(part->advance());
        for (uint32_t worker = 0; worker < kLast; ++worker)
            assert_true(std::all_of(output_of(worker), output_of(worker) + 300 * sizeof(float),
                                    [](char byte) { return byte == '\x5a'; }));
    }
}

void bytes_that_are_not_due_are_refused(void **) {
    constexpr uint64_t kDue = 10 * sizeof(float);
    for (const uint64_t bytes : {uint64_t{0}, kDue - 1, kDue + 1, uint64_t{1} << 31, uint64_t{1} << 60}) {
        const Links links = make_inproc_links(2);
        Random random(test_seed(1));
        const ReduceJob job(random, Spans::even(2, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
        Parties parties(job, 2);
        const auto mine = parties.make(*links[0], OperationHeader::of(job.call(0), 7, 0));
        const OperationHeader header = OperationHeader::of(job.call(0), 7, bytes);
        Pending pending;
        links[1]->send(0, 1, &header, sizeof header, pending);
        const Failure failure = failure_of([&] { mine->advance(); });
        assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
        assert_int_equal(failure.worker(), 1);
    }
}

} // namespace

SUBJECT(tree_sum) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_dtype_and_op_gives_the_bits_of_the_reference),
        cmocka_unit_test(any_buffers_among_many_workers_give_the_bits_of_the_reference),
        cmocka_unit_test(rows_that_scatter_give_what_the_definition_says),
        cmocka_unit_test(parts_in_place_get_the_bits_of_the_reference),
        cmocka_unit_test(a_power_of_two_of_workers_gives_one_message_a_round_each),
        cmocka_unit_test(the_messages_of_hosts_are_few),
        cmocka_unit_test(a_plan_gives_everything_to_everybody),
        cmocka_unit_test(a_worker_in_another_operation_or_one_that_meets_it_says_so),
        cmocka_unit_test(who_has_come_is_known_of_whole_blocks),
        cmocka_unit_test(who_has_come_is_known_to_those_who_speak),
        cmocka_unit_test(outputs_keep_their_bytes_until_results_come),
        cmocka_unit_test(bytes_that_are_not_due_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
