// SPDX-License-Identifier: Apache-2.0
// Reduce-scatters by halving: the definition's bits for every layout, with log2(n) messages. All agree whether the
// lengths were as expected, and nobody is taken in by a worker that does something else.
#include "comm/schedules/halving_sum.h"
#include "inproc.h"
#include "subject.h"

#include "collective_job.h"
#include "schedule_support.h"

namespace {

using namespace mdist;
using Tables = HalvingSum::Tables;

using Pieces = std::vector<std::vector<uint64_t>>; // by buffer, by replica: the elements

Pieces pieces_of(const CollectiveJob &job) {
    Pieces pieces(job.call(0).buffer_count);
    for (std::size_t b = 0; b < pieces.size(); ++b)
        for (uint32_t replica = 0; replica < job.replicas(); ++replica)
            pieces[b].push_back(job.call(replica).outputs[b].elements);
    return pieces;
}

/// What the workers tell if those are the pieces.
Tables tables_of(const CollectiveJob &job, const Spans &spans, const Pieces &pieces) {
    Tables tables(spans.workers());
    for (uint32_t replica = 0; replica < job.replicas(); ++replica) {
        std::vector<char> &table = tables[spans.worker_of(replica)];
        for (std::size_t b = 0; b < pieces.size(); ++b)
            for (const uint64_t number : {pieces[b][replica], job.call(replica).inputs[b].elements}) {
                const auto *const bytes = reinterpret_cast<const char *>(&number);
                table.insert(table.end(), bytes, bytes + sizeof number);
            }
    }
    return tables;
}

/// What all parties need. They expect `pieces`.
struct Parties {
    Parties(const CollectiveJob &of, const Spans &spans, const Pieces &pieces)
        : job(of),
          plan(spans, 1),
          own(tables_of(of, spans, pieces_of(of))),
          expected(tables_of(of, spans, pieces)),
          scratch(spans.workers()) {
        for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
            auto &mine = rows.emplace_back();
            for (std::size_t b = 0; b < pieces.size(); ++b) {
                std::vector<uint64_t> parts(pieces[b].size() + 1);
                std::partial_sum(pieces[b].begin(), pieces[b].end(), parts.begin() + 1);
                mine.emplace_back(job.calls() + spans[worker].first, b, parts, plan.cut(0), worker);
            }
        }
    }
    std::unique_ptr<HalvingSum> make(Link &link, uint64_t sequence = 7) {
        const uint32_t self = link.self();
        return std::make_unique<HalvingSum>(link, OperationHeader::of(job.call(0), sequence, 0), plan, rows[self],
                                            expected, own[self], scratch[self]);
    }

    const CollectiveJob &job;
    const JoinPlan plan;
    const Tables own, expected;
    std::vector<std::vector<ReduceRow>> rows;
    std::vector<Scratch> scratch;
};

CollectiveJob any_job(Random &random, const Spans &spans) {
    return {random, calls::kReduceScatter, spans.replicas(), random() % 8 == 0 ? 3000u : 40u};
}

void every_layout_gives_what_the_definition_says(void **) {
    for (const uint32_t seed : seeds(300, 5000)) {
        Random random(seed);
        const uint32_t workers = 1u << (1 + random() % 5);
        const Spans spans = random() % 2 == 0 ? Spans::even(workers, static_cast<uint32_t>(1 + random() % 3))
                                              : random_spans(random, workers, 4);
        CollectiveJob job = any_job(random, spans);
        job.forget();
        const Links links = make_inproc_links(workers);
        Parties parties(job, spans, pieces_of(job));
        const Schedules done = drive(random, workers, [&](uint32_t party) { return parties.make(*links[party]); });
        for (const auto &schedule : done) {
            auto &sum = dynamic_cast<HalvingSum &>(*schedule);
            assert_true(sum.as_expected());
            assert_true(sum.tables() == parties.own);
            const reduce::FloatEnvironment environment;
            sum.finish();
        }
        for (uint32_t replica = 0; replica < job.replicas(); ++replica)
            if (!job.right(replica)) fail_msg("%s: replica %u has wrong results", text_of(spans).c_str(), replica);
    }
}

/// In the last call, which the parties remember, some pieces were longer and others shorter.
void all_know_if_a_length_is_another(void **) {
    uint32_t differed = 0;
    const Seeds all = seeds(200, 5000);
    for (const uint32_t seed : all) {
        Random random(seed);
        const uint32_t workers = 2u << random() % 4;
        const Spans spans = random_spans(random, workers, 3);
        const CollectiveJob job = any_job(random, spans);
        Pieces pieces = pieces_of(job);
        for (std::size_t i = random() % 3; i > 0; --i) {
            auto &of_buffer = pieces[random() % pieces.size()];
            uint64_t &from = of_buffer[random() % of_buffer.size()];
            const uint64_t moved = from / 2;
            from -= moved;
            of_buffer[random() % of_buffer.size()] += moved;
        }
        const Links links = make_inproc_links(workers);
        Parties parties(job, spans, pieces);
        const Schedules done = drive(random, workers, [&](uint32_t party) { return parties.make(*links[party]); });
        for (const auto &schedule : done) {
            const auto &sum = dynamic_cast<const HalvingSum &>(*schedule);
            assert_int_equal(sum.as_expected(), pieces == pieces_of(job));
            assert_true(sum.tables() == parties.own);
        }
        differed += pieces != pieces_of(job);
    }
    assert_true(differed > 50 || all.count() < 200);
}

void a_worker_gives_one_message_a_round(void **) {
    for (const auto &[workers, messages] : {std::pair<uint32_t, uint32_t>{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
        Random random(test_seed(1));
        const Spans spans = Spans::even(workers, 1);
        const CollectiveJob job = any_job(random, spans);
        Links links;
        for (auto &link : make_inproc_links(workers)) links.push_back(std::make_unique<CountingLink>(std::move(link)));
        Parties parties(job, spans, pieces_of(job));
        drive(random, workers, [&](uint32_t party) { return parties.make(*links[party]); });
        for (const auto &link : links) assert_int_equal(dynamic_cast<const CountingLink &>(*link).peers(), messages);
    }
}

void nobody_gets_through_where_two_disagree(void **) {
    for (const uint32_t seed : seeds(300, 5000)) {
        Random random(seed);
        const uint32_t workers = 2u << random() % 3;
        const Spans spans = Spans::even(workers, 1);
        const CollectiveJob job = any_job(random, spans);
        const Links links = make_inproc_links(workers);
        Parties parties(job, spans, pieces_of(job));
        check_that_disagreement_is_told(
            random, workers, [&](uint32_t party, uint64_t sequence) { return parties.make(*links[party], sequence); });
    }
}

void a_message_of_another_length_is_refused(void **) {
    const Spans spans = Spans::even(2, 1);
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 60}) {
        Random random(test_seed(1));
        const CollectiveJob job = any_job(random, spans);
        const Links links = make_inproc_links(2);
        Parties parties(job, spans, pieces_of(job));
        const auto mine = parties.make(*links[0]);
        const OperationHeader header = OperationHeader::of(job.call(0), 7, bytes);
        Pending pending;
        links[1]->send(0, 1, &header, sizeof header, pending);
        const Failure failure = failure_of([&] { mine->advance(); });
        assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
        assert_int_equal(failure.worker(), 1);
    }
}

} // namespace

SUBJECT(halving_sum) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_gives_what_the_definition_says),
        cmocka_unit_test(all_know_if_a_length_is_another),
        cmocka_unit_test(a_worker_gives_one_message_a_round),
        cmocka_unit_test(nobody_gets_through_where_two_disagree),
        cmocka_unit_test(a_message_of_another_length_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
