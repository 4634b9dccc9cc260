// SPDX-License-Identifier: Apache-2.0
// Small all-reduces by recursive doubling: the bits of the reference for every layout, a message per round, and nobody
// taken in by a worker that does something else, whoever that is and whoever talks to it.
#include "comm/schedules/doubling.h"
#include "comm/links/inproc.h"
#include "comm/schedules/small_exchange.h"

#include <memory>

#include "schedule_support.h"

namespace {

using namespace mdist;

std::vector<ReduceRow> rows_of(const ReduceJob &job, uint32_t worker) {
    std::vector<ReduceRow> rows;
    for (const int32_t dtype : dtypes_of(job.call(0))) rows.emplace_back(job.calls(worker), dtype, job.cut(), worker);
    return rows;
}

/// What all parties of a job need for a doubling.
struct Parties {
    Parties(const ReduceJob &job, uint32_t count) : plan(job.spans(), 1), scratch(count) {
        for (uint32_t worker = 0; worker < count; ++worker) rows.push_back(rows_of(job, worker));
    }
    std::unique_ptr<Doubling> make(Link &link, const OperationHeader &header) {
        return std::make_unique<Doubling>(link, header, plan, rows[link.self()], scratch[link.self()]);
    }

    DoublingPlan plan;
    std::vector<std::vector<ReduceRow>> rows;
    std::vector<Scratch> scratch;
};

void check(Random &random, const Spans &spans, const std::vector<BufferShape> &shapes, reduce::Op op) {
    const uint32_t workers = spans.workers();
    const ReduceJob job(random, spans, op, shapes, random() % 2 == 0);
    const Links links = make_inproc_links(workers);
    Parties parties(job, workers);
    drive(random, workers,
          [&](uint32_t party) { return parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0)); });
    for (uint32_t worker = 0; worker < workers; ++worker)
        if (!job.right(worker))
            fail_msg("%s replicas, op %d, first of %s: worker %u has wrong results", text_of(spans).c_str(),
                     static_cast<int>(op), dtype_name(shapes[0].dtype), worker);
}

void every_layout_dtype_and_op_gives_the_bits_of_the_reference(void **) {
    Random random(1);
    std::vector<Spans> layouts;
    for (uint32_t workers = 1; workers <= 9; ++workers)
        for (uint32_t each = 1; each <= 3; ++each) layouts.push_back(Spans::even(workers, each));
    for (const uint32_t replicas : {3, 5, 7})
        for (const Spans &spans : all_spans(replicas)) layouts.push_back(spans);
    for (const Spans &spans : layouts)
        for (const int32_t dtype : kAllDtypes)
            for (int op = MDIST_SUM; op <= MDIST_XOR; ++op)
                if (takes(op, dtype))
                    check(random, spans, {{dtype, 1 + random() % 60}}, static_cast<reduce::Op>(op));
}

void any_buffers_among_many_workers_give_the_bits_of_the_reference(void **) {
    for (uint32_t seed = 0; seed < rounds(300, 5000); ++seed) {
        Random random(seed);
        const reduce::Op op = random_op(random);
        const auto workers = static_cast<uint32_t>(1 + random() % 35);
        check(random, random_spans(random, workers, 6), random_shapes(random, op, 60), op);
    }
}

void a_power_of_two_of_workers_gives_one_message_a_round_each(void **) {
    constexpr uint64_t kElements = 1024;
    for (const auto &[workers, messages] : {std::pair<uint32_t, uint32_t>{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
        Random random(1);
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

/// Nobody sends more messages than all to all would, and each that is sent is one that somebody expects.
void a_plan_is_the_same_from_both_sides(void **) {
    for (uint32_t workers = 1; workers <= 70; ++workers) {
        const DoublingPlan plan(Spans::even(workers, 1), 1);
        std::vector<uint32_t> sent(workers, 0);
        std::vector<std::vector<int>> met(workers, std::vector<int>(workers, 0));
        for (uint32_t round = 0; round < plan.rounds(); ++round) {
            for (uint32_t worker = 0; worker < workers; ++worker) {
                const DoublingPlan::Part part = plan.part(round, worker);
                for (uint32_t to = part.to_begin; to < part.to_end; to += part.to_step, ++sent[worker]) {
                    assert_int_equal(plan.part(round, to).from, worker);
                    assert_int_equal(met[worker][to]++, 0); // two workers meet in one round at most
                }
                if (part.from != DoublingPlan::kNobody)
                    assert_int_equal(DoublingPlan::block(round, part.from), DoublingPlan::block(round, worker) ^ 1);
            }
        }
        for (uint32_t worker = 0; worker < workers; ++worker) assert_true(sent[worker] < workers);
    }
}

// ---- Workers that do not do the same

/// All but one are in an all-reduce. Links stay open, so that nobody fails by another's failure.
void check_culprit(uint32_t workers, uint32_t culprit, bool doubles) {
    Random random(workers * 100 + culprit);
    const ReduceJob job(random, Spans::even(workers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(workers);
    Parties parties(job, workers);
    Call other; // a barrier, or all-reduces that differ in the op alone
    other.kind = &calls::kBarrier;
    if (doubles) other = job.call(culprit), other.op = MDIST_MAX;
    Schedules schedules(workers);
    for (uint32_t party = 0; party < workers; ++party) {
        const OperationHeader header = OperationHeader::of(party == culprit ? other : job.call(party), 7, 0);
        if (party == culprit && !doubles)
            schedules[party] = std::make_unique<SmallExchange>(*links[party], header, nullptr);
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
        assert_non_null(std::strstr(failure.what(), doubles ? "mdist_all_reduce(MAX" : "mdist_barrier()"));
        told |= party != culprit;
    }
    assert_true(outcomes[culprit].has_value());
    if (!told) fail_msg("%u workers, culprit %u, doubles %d", workers, culprit, doubles);
}

void a_worker_in_another_operation_and_one_that_meets_it_both_say_so(void **) {
    for (uint32_t workers = 2; workers <= 9; ++workers) {
        for (uint32_t culprit = 0; culprit < workers; ++culprit) {
            check_culprit(workers, culprit, true);
            check_culprit(workers, culprit, false);
        }
    }
}

/// Any split into two camps.
void nobody_gets_through_where_two_disagree(void **) {
    for (uint32_t seed = 0; seed < rounds(300, 5000); ++seed) {
        Random random(seed);
        const auto workers = static_cast<uint32_t>(2 + random() % 12);
        const ReduceJob job(random, Spans::even(workers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
        const Links links = make_inproc_links(workers);
        Parties parties(job, workers);
        const auto odd_one = static_cast<uint32_t>(random() % workers);
        Schedules schedules(workers);
        for (uint32_t party = 0; party < workers; ++party) {
            const bool other = party == odd_one || (party != (odd_one + 1) % workers && random() % 3 == 0);
            schedules[party] = parties.make(*links[party], OperationHeader::of(job.call(0), other ? 8 : 7, 0));
        }
        uint32_t told = 0;
        for (const std::optional<Failure> &outcome : run_out(random, schedules)) {
            if (!outcome) continue;
            assert_int_equal(outcome->status(), MDIST_ERR_MISMATCH);
            ++told;
        }
        assert_true(told >= 2);
    }
}

void who_has_come_is_known_of_whole_blocks(void **) {
    constexpr uint32_t kWorkers = 8, kLate = 5;
    Random random(1);
    const ReduceJob job(random, Spans::even(kWorkers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 10}}, false);
    const Links links = make_inproc_links(kWorkers);
    Parties parties(job, kWorkers);
    std::vector<std::unique_ptr<Doubling>> doublings(kWorkers);
    for (uint32_t party = 0; party < kWorkers; ++party)
        if (party != kLate) doublings[party] = parties.make(*links[party], OperationHeader::of(job.call(0), 7, 0));
    for (int i = 0; i < 10; ++i)
        for (const auto &doubling : doublings) assert_false(doubling && doubling->advance());
    for (uint32_t party = 0; party < 4; ++party)
        for (uint32_t other = 0; other < kWorkers; ++other)
            assert_int_equal(doublings[party]->has_come(other), other < 4);
    assert_true(doublings[6]->has_come(7));
    assert_false(doublings[6]->has_come(4) || doublings[6]->has_come(kLate) || doublings[4]->has_come(kLate));
}

void bytes_that_are_not_due_are_refused(void **) {
    const Links links = make_inproc_links(2);
    Random random(1);
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

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_dtype_and_op_gives_the_bits_of_the_reference),
        cmocka_unit_test(any_buffers_among_many_workers_give_the_bits_of_the_reference),
        cmocka_unit_test(a_power_of_two_of_workers_gives_one_message_a_round_each),
        cmocka_unit_test(a_plan_is_the_same_from_both_sides),
        cmocka_unit_test(a_worker_in_another_operation_and_one_that_meets_it_both_say_so),
        cmocka_unit_test(nobody_gets_through_where_two_disagree),
        cmocka_unit_test(who_has_come_is_known_of_whole_blocks),
        cmocka_unit_test(bytes_that_are_not_due_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
