// SPDX-License-Identifier: Apache-2.0
// Numbers of rows: batch sizes of workers, shares of a batch, and which batch size a dataset has.
#include "plan_support.h"

#include "data/distribute/shares.h"
#include "subject.h"

#include "spans_support.h"

namespace {

using Sizes = std::vector<uint64_t>;

uint64_t sum(const Sizes &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
}

void batch_sizes_are_those_of_the_examples(void **) {
    assert_true(batch_sizes_for_worker(32, even(1, 0, 3)) == (Sizes{11, 11, 10}));
    assert_true(batch_sizes_for_worker(4, even(3, 0, 1)) == (Sizes{2, 1, 1}));
    assert_true(batch_sizes_for_worker(4, even(3, 1, 1)) == (Sizes{1, 1, 2}));
    assert_true(batch_sizes_for_worker(4, even(3, 2, 1)) == (Sizes{1, 2, 1}));
    assert_true(batch_sizes_for_worker(7, even(2, 0, 2)) == (Sizes{2, 2, 2, 1}));
    assert_true(batch_sizes_for_worker(7, even(2, 1, 2)) == (Sizes{2, 1, 2, 2}));
    assert_true(batch_sizes_for_worker(5, even(3, 0, 1)) == (Sizes{2, 2, 1}));
    assert_true(batch_sizes_for_worker(5, even(3, 1, 1)) == (Sizes{2, 1, 2}));
    assert_true(batch_sizes_for_worker(5, even(3, 2, 1)) == (Sizes{1, 2, 2}));
    assert_true(batch_sizes_for_worker(4, even(2, 0, 5)) == (Sizes{1, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
    assert_true(batch_sizes_for_worker(4, even(2, 1, 5)) == (Sizes{0, 0, 0, 0, 0, 1, 1, 1, 1, 0}));
    for (uint64_t worker = 0; worker < 2; ++worker)
        assert_true(batch_sizes_for_worker(8, even(2, worker, 2)) == (Sizes{2, 2, 2, 2}));
    assert_true(batch_sizes_for_worker(4, even(5, 0, 1)) == (Sizes{1, 1, 1, 1, 0}));
}

void every_step_of_all_workers_has_the_batch(void **) {
    for (uint64_t batch = 1; batch < 20; ++batch)
        for (uint64_t workers = 1; workers <= 5; ++workers)
            for (uint64_t replicas = 1; replicas <= 5; ++replicas) {
                Sizes steps(workers), all;
                for (uint64_t worker = 0; worker < workers; ++worker) {
                    const Sizes sizes = batch_sizes_for_worker(batch, even(workers, worker, replicas));
                    assert_int_equal(sizes.size(), workers * replicas);
                    assert_int_equal(sum(sizes), batch);
                    for (std::size_t i = 0; i < sizes.size(); ++i) steps[i / replicas] += sizes[i];
                    all.insert(all.end(), sizes.begin(), sizes.end());
                }
                for (const uint64_t step : steps) assert_int_equal(step, batch);
                assert_true(*std::max_element(all.begin(), all.end()) - *std::min_element(all.begin(), all.end()) <= 1);
            }
}

void every_step_of_uneven_workers_has_the_batch_and_every_replica_gets_as_much(void **) {
    for (const Spans &spans : all_spans(6)) {
        if (spans.are_even()) continue;
        for (uint64_t batch = 1; batch < 20; ++batch) {
            Sizes steps(6), replicas(6);
            for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
                const Sizes sizes = batch_sizes_for_worker(batch, {spans, worker});
                const uint32_t own = spans[worker].count();
                assert_int_equal(sizes.size(), 6 * own);
                for (std::size_t i = 0; i < sizes.size(); ++i) {
                    steps[i / own] += sizes[i];
                    replicas[spans[worker].first + i % own] += sizes[i];
                }
            }
            for (const uint64_t step : steps) assert_int_equal(step, batch);
            for (const uint64_t replica : replicas) assert_int_equal(replica, batch);
        }
    }
}

void the_old_rule_takes_the_ceiling(void **) {
    const auto ceiling = [](uint64_t rows, uint64_t slices) { return Shares{Shares::Rule::kCeiling, slices}.of(rows); };
    assert_true(ceiling(4, 3) == (Sizes{2, 2, 0}));
    assert_true(ceiling(2, 3) == (Sizes{1, 1, 0}));
    assert_true(ceiling(5, 4) == (Sizes{2, 2, 1, 0}));
    assert_true(ceiling(0, 2) == (Sizes{0, 0}));
    const auto parts = [](uint64_t rows, uint64_t replicas) {
        return shown(dealt([=] { return make_batch(numbers(rows), 4, false); }, 1, replicas, by(MDIST_SHARD_DATA))[0]);
    };
    assert_string_equal(parts(8, 3).c_str(), "[0 1] [2 3] [] | [4 5] [6 7] []");
    assert_string_equal(parts(10, 2).c_str(), "[0 1] [2 3] | [4 5] [6 7] | [8] [9]");
    assert_string_equal(parts(9, 2).c_str(), "[0 1] [2 3] | [4 5] [6 7] | [8] []");
}

void weights_share_out_all_rows_as_near_as_whole_numbers_are(void **) {
    std::mt19937_64 random(test_seed(5));
    for (int round = 0; round < 2000; ++round) {
        Shares shares = {Shares::Rule::kWeighted, 1 + random() % 8};
        double all = 0;
        for (uint64_t i = 0; i < shares.slices; ++i) {
            shares.weights.push_back(static_cast<double>(random() % 5) + (i == 0 ? 1 : 0));
            all += shares.weights.back();
        }
        const uint64_t rows = random() % 100;
        const Sizes got = shares.of(rows);
        assert_int_equal(sum(got), rows);
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double exact = static_cast<double>(rows) * shares.weights[i] / all;
            assert_true(static_cast<double>(got[i]) < exact + 1 && static_cast<double>(got[i]) > exact - 1);
        }
    }
    // Weights that cannot be added, and rows that cannot be counted in a double.
    const Sizes huge = Shares{Shares::Rule::kWeighted, 3, 0, {1.7e308, 1.7e308, 1.7e308}}.of(UINT64_MAX);
    assert_true(sum(huge) == UINT64_MAX);
}

void the_batch_size_is_found_behind_what_keeps_it(void **) {
    const auto four = make_batch(numbers(10), 4, false);
    assert_int_equal(batch_size_of(*four).value_or(0), 4);
    for (const auto &kept :
         {make_take(four, 2), make_skip(four, 1), make_repeat(four, 3), make_shuffle(four, 9, 1, true),
          make_prefetch(four, 1), make_cache(four), make_shard(four, 2, 1), make_named(four, {"x"}),
          make_shard(four, MDIST_ONE_PER_WORKER, 0)})
        assert_int_equal(batch_size_of(*kept).value_or(0), 4);
    assert_int_equal(batch_size_of(*make_zip({four, make_take(four, 1)})).value_or(0), 4);
    assert_int_equal(batch_size_of(*make_concatenate(four, four)).value_or(0), 4);
    const auto eight = make_batch(numbers(10), 8, false);
    assert_false(batch_size_of(*make_zip({four, eight})).has_value());
    assert_false(batch_size_of(*make_concatenate(four, eight)).has_value());
    assert_false(batch_size_of(*hidden(four)).has_value());
    assert_false(batch_size_of(*make_rebatch(four, {2, 3}, false)).has_value());
    assert_false(batch_size_of(*numbers(8)).has_value());
}

void shapes_that_are_known_tell_the_batch_size(void **) {
    assert_int_equal(batch_size_of(*numbers(3, 6)).value_or(0), 6); // rows of 6
    assert_int_equal(batch_size_of(*hidden(make_batch(numbers(10), 4, true))).value_or(0), 4);
    assert_int_equal(batch_size_of(*make_rebatch(make_batch(numbers(10), 4, false), {3}, true)).value_or(0), 3);
    assert_false(batch_size_of(*make_zip({numbers(3, 6), numbers(3, 5)})).has_value());
    // That 8 rows make whole batches of 4 is chance, and no reason for another rule than with 10.
    assert_false(batch_size_of(*hidden(make_batch(numbers(8), 4, false))).has_value());
    assert_int_equal(batch_size_of(*make_batch(make_batch(numbers(8), 2, false), 4, false)).value_or(0), 4);
}

} // namespace

SUBJECT(data_shares) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(batch_sizes_are_those_of_the_examples),
        cmocka_unit_test(every_step_of_all_workers_has_the_batch),
        cmocka_unit_test(every_step_of_uneven_workers_has_the_batch_and_every_replica_gets_as_much),
        cmocka_unit_test(the_old_rule_takes_the_ceiling),
        cmocka_unit_test(weights_share_out_all_rows_as_near_as_whole_numbers_are),
        cmocka_unit_test(the_batch_size_is_found_behind_what_keeps_it),
        cmocka_unit_test(shapes_that_are_known_tell_the_batch_size),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
