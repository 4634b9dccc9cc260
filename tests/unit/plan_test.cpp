// SPDX-License-Identifier: Apache-2.0
// Plan: its moves, carried out one by one, are the collective; and everybody sees the same ones in the same order.
#include "comm/plan/plan.h"
#include "reduce_reference.h"
#include "subject.h"
#include "util/failure.h"

#include "collective_job.h"

namespace {

using namespace mdist;

/// Carries out a move in the plainest way.
void make(const CollectiveJob &job, const Move &move) {
    const std::size_t b = move.buffer;
    const std::size_t bytes = move.elements * dtype_size(job.call(0).inputs[b].dtype);
    std::vector<unsigned char> moved(bytes);
    if (move.sums()) {
        std::vector<const void *> sources;
        for (uint32_t replica = 0; replica < job.replicas(); ++replica)
            sources.push_back(at(job.call(replica).inputs[b], move.input_begin));
        void *to = moved.data();
        if (bytes != 0)
            reduce::reduce_reference(
                {job.call(0).inputs[b].dtype, static_cast<reduce::Op>(job.call(0).op), job.replicas()}, sources.data(),
                sources.size(), &to, 1, move.elements);
    } else if (bytes != 0) {
        std::memcpy(moved.data(), at(job.call(move.from).inputs[b], move.input_begin), bytes);
    }
    for (uint32_t replica = 0; replica < job.replicas(); ++replica)
        if (bytes != 0 && (move.to == Move::kAll || move.to == replica))
            std::memcpy(at(job.call(replica).outputs[b], move.output_begin), moved.data(), bytes);
}

void the_moves_of_a_plan_are_the_collective(void **) {
    const reduce::FloatEnvironment environment;
    for (const uint32_t seed : seeds(400, 4000)) {
        Random random(seed);
        const CallFunction &function = *kCollectives[random() % std::size(kCollectives)];
        CollectiveJob job(random, function, static_cast<uint32_t>(1 + random() % 9), 20);
        job.forget();
        const CallLengths lengths(Calls(job.calls(), sizeof *job.calls(), job.replicas()));
        Plan(job.call(0), lengths).each_move([&](const Move &move) { make(job, move); });
        for (uint32_t replica = 0; replica < job.replicas(); ++replica)
            if (!job.right(replica)) fail_msg("seed %u: %s at replica %u", seed, function.name(), replica);
    }
}

bool same(const Move &a, const Move &b) {
    return a.from == b.from && a.to == b.to && a.buffer == b.buffer && a.input_begin == b.input_begin &&
           a.output_begin == b.output_begin && a.elements == b.elements;
}

/// The moves in `some` are those of `all` for which `wanted` holds, in the same order.
template <class Wanted>
void check_some(const std::vector<Move> &all, const std::vector<Move> &some, Wanted wanted) {
    std::size_t next = 0;
    for (const Move &move : all)
        if (wanted(move)) assert_true(next < some.size() && same(move, some[next++]));
    assert_int_equal(next, some.size());
}

void a_span_sees_its_own_moves_in_the_order_of_all(void **) {
    for (const uint32_t seed : seeds(400, 4000)) {
        Random random(seed);
        const CallFunction &function = *kCollectives[random() % std::size(kCollectives)];
        const CollectiveJob job(random, function, static_cast<uint32_t>(1 + random() % 9), 20);
        const CallLengths lengths(Calls(job.calls(), sizeof *job.calls(), job.replicas()));
        const Plan plan(job.call(0), lengths);
        const auto first = static_cast<uint32_t>(random() % job.replicas());
        const Span span = {first, static_cast<uint32_t>(first + 1 + random() % (job.replicas() - first))};
        std::vector<Move> all, to, of;
        plan.each_move([&](const Move &move) { all.push_back(move); });
        plan.each_move_to(span, [&](const Move &move) { to.push_back(move); });
        plan.each_move_of(span, [&](const Move &move) { of.push_back(move); });
        const auto takes = [&](const Move &move) { return move.to == Move::kAll || span.has(move.to); };
        check_some(all, to, takes);
        check_some(all, of, [&](const Move &move) { return takes(move) || move.sums() || span.has(move.from); });
    }
}

void lengths_told_are_those_of_the_calls(void **) {
    for (const uint32_t seed : seeds(400, 4000)) {
        Random random(seed);
        const CallFunction &function = *kCollectives[random() % std::size(kCollectives)];
        std::vector<uint32_t> counts(1 + random() % 4);
        for (uint32_t &count : counts) count = static_cast<uint32_t>(1 + random() % 3);
        const Spans spans(counts);
        const CollectiveJob job(random, function, spans.replicas(), 20);
        std::vector<std::string> tables;
        for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
            const std::vector<uint64_t> table =
                ToldLengths::table_of(job.calls() + spans[worker].first, spans[worker].count());
            const char *const bytes = reinterpret_cast<const char *>(table.data());
            tables.emplace_back(bytes, bytes + table.size() * sizeof table[0]);
        }
        const ToldLengths told(tables, spans, job.call(0).buffer_count, ToldLengths::width(job.call(0)));
        const CallLengths own(Calls(job.calls(), sizeof *job.calls(), job.replicas()));
        for (uint32_t replica = 0; replica < job.replicas(); ++replica)
            for (std::size_t b = 0; b < job.call(0).buffer_count; ++b) {
                for (uint32_t other = 0; job.call(0).input_parts != nullptr && other < job.replicas(); ++other) {
                    assert_int_equal(told.given(replica, other, b), own.given(replica, other, b));
                    assert_int_equal(told.taken(replica, other, b), own.taken(replica, other, b));
                }
                if (job.call(0).input_parts != nullptr) continue;
                assert_int_equal(told.piece(replica, b), own.piece(replica, b));
                assert_int_equal(told.joined(replica, b), own.joined(replica, b));
                assert_int_equal(told.offset(replica, b), own.offset(replica, b));
            }
    }
}

/// What ToldLengths throws for one worker's table.
Failure refusal(const std::vector<uint64_t> &table, std::size_t bytes) {
    std::string blob(bytes, 0);
    std::memcpy(blob.data(), table.data(), bytes);
    try {
        ToldLengths({blob}, Spans({2}), 1);
    } catch (const Failure &failure) {
        return failure;
    }
    return {MDIST_OK, ""};
}

void tables_that_nobody_would_send_are_refused(void **) {
    assert_int_equal(refusal({1, 3, 2, 3}, 32).status(), MDIST_OK);
    assert_int_equal(refusal({1, 3, 2, 3}, 24).status(), MDIST_ERR_DATA_LOSS);
    assert_int_equal(refusal({UINT64_MAX, 3, 2, 3}, 32).status(), MDIST_ERR_DATA_LOSS);
}

} // namespace

SUBJECT(plan) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_moves_of_a_plan_are_the_collective),
        cmocka_unit_test(a_span_sees_its_own_moves_in_the_order_of_all),
        cmocka_unit_test(lengths_told_are_those_of_the_calls),
        cmocka_unit_test(tables_that_nobody_would_send_are_refused),
    };
    return cmocka_run_group_tests_name("unit/plan", tests, nullptr, nullptr);
}
