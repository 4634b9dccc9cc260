// SPDX-License-Identifier: Apache-2.0
// How batches in memory are dealt out to workers and replicas: TensorFlow's worked examples, and what it has no options
// for.
#include "plan_support.h"
#include "spans_support.h"
#include "subject.h"

namespace {

Make batches(uint64_t rows, uint64_t size, bool drop = false) {
    return [=] { return make_batch(numbers(rows), size, drop); };
}

void assert_dealt(const Job &job, const std::vector<std::string> &expected) {
    assert_int_equal(job.size(), expected.size());
    for (std::size_t worker = 0; worker < job.size(); ++worker)
        assert_string_equal(shown(job[worker]).c_str(), expected[worker].c_str());
}

void auto_and_data_deal_slices_of_batches_out_in_turn(void **) {
    for (const int32_t policy : {MDIST_SHARD_AUTO, MDIST_SHARD_DATA}) {
        const Dealing dealing = by(policy);
        assert_dealt(dealt(batches(10, 4), 2, 2, dealing),
                     {"[0] [2] | [4] [6] | [8] []", "[1] [3] | [5] [7] | [9] []"});
        assert_dealt(dealt(batches(10, 4, true), 2, 2, dealing), {"[0] [2] | [4] [6]", "[1] [3] | [5] [7]"});
        assert_dealt(dealt(batches(8, 8), 2, 2, dealing), {"[0 1] [4 5]", "[2 3] [6 7]"});
        assert_dealt(dealt(batches(8, 3), 2, 1, dealing), {"[0 1] | [3 4] | [6]", "[2] | [5] | [7]"});
        assert_dealt(dealt(batches(9, 2), 2, 1, dealing),
                     {"[0] | [2] | [4] | [6] | [8]", "[1] | [3] | [5] | [7] | []"});
        assert_dealt(dealt(batches(9, 2, true), 2, 1, dealing), {"[0] | [2] | [4] | [6]", "[1] | [3] | [5] | [7]"});
        assert_dealt(dealt(batches(15, 4), 2, 2, dealing),
                     {"[0] [2] | [4] [6] | [8] [10] | [12] [14]", "[1] [3] | [5] [7] | [9] [11] | [13] []"});
        assert_dealt(dealt(batches(11, 5), 3, 1, dealing),
                     {"[0 1] | [5 6] | [10]", "[2 3] | [7 8] | []", "[4] | [9] | []"});
        assert_dealt(dealt(batches(14, 8), 2, 1, dealing), {"[0 1 2 3] | [8 9 10]", "[4 5 6 7] | [11 12 13]"});
    }
}

void a_batch_smaller_than_the_job_leaves_some_without(void **) {
    for (const bool drop : {false, true}) {
        assert_dealt(dealt(batches(2, 2, drop), 1, 2, by(MDIST_SHARD_AUTO)), {"[0] [1]"});
        assert_dealt(dealt(batches(2, 1, drop), 1, 2, by(MDIST_SHARD_AUTO)), {"[0] [] | [1] []"});
    }
}

void off_deals_rows_out_across_the_borders_of_batches(void **) {
    const Dealing off = by(MDIST_SHARD_OFF);
    const std::string all = "[0] [1] | [2] [3] | [4] [5] | [6] [7] | [8] [9]";
    assert_dealt(dealt(batches(10, 4), 2, 2, off), {all, all});
    const std::string three = "[0 1 2 3] | [4 5 6 7] | [8 9 10 11]";
    assert_dealt(dealt(batches(12, 8), 2, 1, off), {three, three});
    const std::string four = "[0 1 2 3] | [4 5 6 7] | [8 9] | [10 11]";
    const Make unknown = [] { return hidden(make_batch(numbers(12), 8, false)); };
    assert_dealt(dealt(unknown, 2, 1, off), {four, four});
}

void one_worker_gets_the_old_rule_from_memory_and_the_new_one_with_off(void **) {
    const auto one = [](uint64_t rows, uint64_t size, uint64_t replicas, int32_t policy) {
        return shown(dealt(batches(rows, size), 1, replicas, by(policy))[0]);
    };
    assert_string_equal(one(10, 4, 3, MDIST_SHARD_OFF).c_str(), "[0 1] [2] [3] | [4 5] [6] [7] | [8 9] [] []");
    assert_string_equal(one(10, 4, 3, MDIST_SHARD_AUTO).c_str(), "[0 1] [2 3] [] | [4 5] [6 7] [] | [8] [9] []");
    assert_string_equal(one(8, 3, 2, MDIST_SHARD_OFF).c_str(), "[0 1] [2] | [3 4] [5] | [6 7] []");
    assert_string_equal(one(8, 3, 2, MDIST_SHARD_DATA).c_str(), "[0 1] [2] | [3 4] [5] | [6] [7]");
    // One worker reads all there is under FILE, too, whatever it is.
    assert_string_equal(one(8, 3, 2, MDIST_SHARD_FILE).c_str(), "[0 1] [2] | [3 4] [5] | [6 7] []");
    const Steps off = dealt(batches(100, 32), 1, 3, by(MDIST_SHARD_OFF))[0];
    const Steps data = dealt(batches(100, 32), 1, 3, by(MDIST_SHARD_DATA))[0];
    const auto counts = [](const Step &step) {
        return std::vector<std::size_t>{step[0].size(), step[1].size(), step[2].size()};
    };
    assert_true(off.size() == 4 && counts(off[0]) == (std::vector<std::size_t>{11, 11, 10}));
    assert_true(counts(off[3]) == (std::vector<std::size_t>{4, 0, 0}));
    assert_true(data.size() == 4 && counts(data[3]) == (std::vector<std::size_t>{2, 2, 0}));
}

void one_replica_gets_the_dataset_as_it_is(void **) {
    const auto source = make_batch(numbers(10), 4, false);
    for (const int32_t policy : {MDIST_SHARD_OFF, MDIST_SHARD_AUTO, MDIST_SHARD_FILE, MDIST_SHARD_DATA})
        assert_ptr_equal(make_plan(source, even(1, 0, 1), by(policy)).parts.get(), source.get());
}

void sizes_of_0_are_batches_of_no_rows(void **) {
    const auto sizes = [](std::vector<uint64_t> given) {
        std::string all;
        for (const Item &part : items(make_rebatch(make_batch(numbers(8), 4, false), std::move(given), false)))
            all += std::to_string(part.values.size());
        return all;
    };
    assert_string_equal(sizes({1, 1, 1, 1, 0}).c_str(), "1111011110");
    assert_string_equal(sizes({0, 1}).c_str(), "01010101010101010"); // ends with a batch of no rows
    assert_string_equal(sizes({1, 0}).c_str(), "1010101010101010");
    // Behind the last row, sizes of 0 still come: worker 1 has a third step without rows, before its first size of 1.
    const Job job = dealt(batches(4, 4), 2, 5, by(MDIST_SHARD_OFF));
    assert_string_equal(shown(job[0]).c_str(), "[0] [1] [2] [3] [] | [] [] [] [] [] | [] [] [] [] []");
    assert_string_equal(shown(job[1]).c_str(), "[] [] [] [] [] | [0] [1] [2] [3] [] | [] [] [] [] []");
}

void whole_elements_go_to_replicas_in_turn(void **) {
    Dealing dealing = by(MDIST_SHARD_AUTO);
    dealing.split = false;
    const Make scalars = [] { return numbers(4); };
    assert_dealt(dealt(scalars, 2, 1, dealing), {"[0] | [2]", "[1] | [3]"});
    assert_dealt(dealt([] { return numbers(9); }, 2, 2, dealing),
                 {"[0] [2] | [4] [6] | [8] []", "[1] [3] | [5] [7] | [] []"});
    dealing.by_replica = true;
    assert_dealt(dealt([] { return numbers(9); }, 2, 2, dealing),
                 {"[0] [1] | [4] [5] | [8] []", "[2] [3] | [6] [7] | [] []"});
    dealing.by_replica = false;
    assert_says(failure_of([&] { make_plan(numbers(5), even(10, 0, 1), dealing); }), MDIST_ERR_FAILED_PRECONDITION,
                "the dataset has 5 for 10 workers");
    assert_dealt(dealt([] { return numbers(0); }, 10, 1, dealing), std::vector<std::string>(10, ""));
    dealing.policy = MDIST_SHARD_OFF;
    assert_dealt(dealt(scalars, 2, 1, dealing), {"[0] | [1] | [2] | [3]", "[0] | [1] | [2] | [3]"});
    assert_dealt(dealt(scalars, 1, 3, dealing), {"[0] [1] [2] | [3] [] []"});
}

void every_second_number_of_1024_is_for_the_first_of_two(void **) {
    Dealing dealing = by(MDIST_SHARD_AUTO);
    dealing.split = false;
    const Rows got = all_rows({dealt([] { return make_range(0, 1024, 1); }, 2, 1, dealing)[0]});
    assert_int_equal(got.size(), 512);
    for (std::size_t i = 0; i < got.size(); ++i) assert_int_equal(got[i], 2 * i);
}

void a_hint_becomes_the_workers_shard(void **) {
    Dealing dealing = by(MDIST_SHARD_MARKED);
    dealing.split = false;
    const Make hinted = [] { return make_shard(make_range(0, 100, 1), MDIST_ONE_PER_WORKER, 0); };
    assert_true(all_rows({dealt(hinted, 10, 1, dealing)[0]}) == (Rows{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
    const Make own = [] { return make_shard(make_range(0, 100, 1), 1, 0); };
    assert_int_equal(all_rows({dealt(own, 10, 1, dealing)[0]}).size(), 100);
    // Below other transforms; a batch for each worker is then cut by the new rule.
    const Make batched = [] { return make_batch(make_shard(numbers(12), MDIST_ONE_PER_WORKER, 7), 4, false); };
    assert_dealt(dealt(batched, 2, 2, by(MDIST_SHARD_MARKED)),
                 {"[0] [2] | [4] [6] | [8] [10]", "[1] [3] | [5] [7] | [9] [11]"});
    assert_says(failure_of([&] { make_plan(make_shard(numbers(3), MDIST_ONE_PER_WORKER, 0), even(4, 0, 1), dealing); }),
                MDIST_ERR_FAILED_PRECONDITION, "3 elements, over 4 workers");
}

void a_hint_that_nobody_replaces_cannot_be_iterated(void **) {
    const auto hinted = make_batch(make_shard(numbers(12), MDIST_ONE_PER_WORKER, 0), 4, false);
    const Failure failure = failure_of([&] { Iterator iterator(hinted); });
    assert_says(failure, MDIST_ERR_FAILED_PRECONDITION, "MDIST_ONE_PER_WORKER");
    assert_string_equal(failure.reason().c_str(), "shard_placeholder");
    const InputPlan plan = make_plan(hinted, even(2, 0, 1), by(MDIST_SHARD_DATA));
    assert_says(failure_of([&] { Iterator iterator(plan.parts); }), MDIST_ERR_FAILED_PRECONDITION,
                "MDIST_ONE_PER_WORKER");
}

Dealing unevenly(int32_t policy, int32_t uneven) {
    Dealing dealing = by(policy);
    dealing.uneven = uneven;
    return dealing;
}

void spread_leaves_nobody_idle_while_others_have_two(void **) {
    const Dealing data = unevenly(MDIST_SHARD_DATA, MDIST_UNEVEN_SPREAD);
    assert_dealt(dealt(batches(9, 5), 1, 4, data), {"[0 1] [2] [3] [4] | [5] [6] [7] [8]"});
    assert_dealt(dealt(batches(10, 4), 1, 3, data), {"[0 1] [2] [3] | [4 5] [6] [7] | [8] [9] []"});
    assert_dealt(dealt(batches(5, 5), 2, 2, data), {"[0 1] [3]", "[2] [4]"});
    const Dealing off = unevenly(MDIST_SHARD_OFF, MDIST_UNEVEN_SPREAD);
    assert_dealt(dealt(batches(10, 4), 1, 3, off), {"[0 1] [2] [3] | [4 5] [6] [7] | [8] [9] []"});
    // Whole batches come out as by TensorFlow's rule.
    assert_true(dealt(batches(21, 7), 2, 2, off) == dealt(batches(21, 7), 2, 2, by(MDIST_SHARD_OFF)));
}

void drop_gives_all_alike_or_nothing(void **) {
    const Dealing data = unevenly(MDIST_SHARD_DATA, MDIST_UNEVEN_DROP);
    assert_dealt(dealt(batches(12, 5), 1, 2, data), {"[0 1] [2 3] | [5 6] [7 8] | [10] [11]"});
    assert_dealt(dealt(batches(13, 6), 1, 3, data), {"[0 1] [2 3] [4 5] | [6 7] [8 9] [10 11]"});
    assert_dealt(dealt(batches(10, 4), 2, 2, data), {"[0] [2] | [4] [6]", "[1] [3] | [5] [7]"});
    assert_dealt(dealt(batches(3, 3), 2, 2, data), {"", ""});
}

Dealing weighted(int32_t policy, std::vector<double> weights) {
    Dealing dealing = by(policy);
    dealing.weights = std::move(weights);
    return dealing;
}

void weights_share_rows_out_in_proportion_by_replica(void **) {
    assert_dealt(dealt(batches(8, 8), 1, 2, weighted(MDIST_SHARD_DATA, {3, 1})), {"[0 1 2 3 4 5] [6 7]"});
    // 10/7, 20/7, 40/7: 1, 2, 5 and the two that are left to the remainders 6/7 and 5/7.
    assert_dealt(dealt(batches(10, 10), 1, 3, weighted(MDIST_SHARD_DATA, {1, 2, 4})), {"[0] [1 2 3] [4 5 6 7 8 9]"});
    // Equal remainders: the first.
    assert_dealt(dealt(batches(3, 3), 1, 2, weighted(MDIST_SHARD_DATA, {5, 5})), {"[0 1] [2]"});
    // Weights are by replica id, though slices go to workers in turn: 0, 2 to worker 0 and 1, 3 to worker 1.
    assert_dealt(dealt(batches(10, 10), 2, 2, weighted(MDIST_SHARD_DATA, {4, 3, 2, 1})),
                 {"[0 1 2 3] [6 7 8]", "[4 5] [9]"});
    // Workers of their own rows take more or fewer of them in each step.
    const Job off = dealt(batches(12, 4), 2, 1, weighted(MDIST_SHARD_OFF, {3, 1}));
    assert_string_equal(shown({off[0].begin(), off[0].begin() + 4}).c_str(), "[0 1 2] | [3 4 5] | [6 7 8] | [9 10 11]");
    assert_string_equal(shown({off[1].begin(), off[1].begin() + 3}).c_str(), "[0] | [1] | [2]");
}

void weights_that_say_nothing_are_refused(void **) {
    const auto refused = [](const Dealing &dealing, const char *words) {
        assert_says(failure_of([&] { make_plan(batches(8, 4)(), even(2, 0, 1), dealing); }), MDIST_ERR_INVALID_ARGUMENT,
                    words);
    };
    refused(weighted(MDIST_SHARD_DATA, {1}), "1 weights for 2 replicas");
    refused(weighted(MDIST_SHARD_DATA, {1, -1}), "weight 1 is -1");
    refused(weighted(MDIST_SHARD_DATA, {0, 0}), "all weights are 0");
    refused(weighted(MDIST_SHARD_OFF, {1, 1000}), "worker 0 gets 0 of the ");
    Dealing both = weighted(MDIST_SHARD_DATA, {1, 1});
    both.uneven = MDIST_UNEVEN_DROP;
    refused(both, "weights");
    assert_says(failure_of([&] {
                    make_plan(hidden(batches(8, 4)()), even(2, 0, 1), weighted(MDIST_SHARD_OFF, {1, 2}));
                }),
                MDIST_ERR_INVALID_ARGUMENT, "batch size");
    refused(unevenly(MDIST_SHARD_DATA, 7), "uneven 7");
    const auto drop = unevenly(MDIST_SHARD_DATA, MDIST_UNEVEN_DROP);
    const auto forever = make_repeat(batches(8, 1)(), MDIST_FOREVER);
    assert_says(failure_of([&] { make_plan(forever, even(2, 0, 1), drop); }), MDIST_ERR_INVALID_ARGUMENT,
                "without end");
    make_plan(batches(8, 1)(), even(2, 0, 1), drop); // this one is just empty
    refused(by(9), "policy 9");
}

void by_replica_gives_the_same_rows_in_every_layout(void **) {
    Dealing dealing = by(MDIST_SHARD_AUTO);
    dealing.by_replica = true;
    for (const bool split : {true, false})
        for (const int32_t uneven : {MDIST_UNEVEN_DEFAULT, MDIST_UNEVEN_SPREAD, MDIST_UNEVEN_DROP}) {
            dealing.split = split;
            dealing.uneven = split ? uneven : MDIST_UNEVEN_DEFAULT;
            const Steps alone = dealt(batches(53, 13), 1, 6, dealing)[0];
            for (const Spans &spans : all_spans(6)) {
                const Job job = dealt(batches(53, 13), spans, dealing);
                assert_int_equal(job[0].size(), alone.size());
                for (std::size_t step = 0; step < alone.size(); ++step)
                    for (uint32_t id = 0; id < 6; ++id) {
                        const uint32_t worker = spans.worker_of(id);
                        assert_true(job[worker][step][id - spans[worker].first] == alone[step][id]);
                    }
            }
        }
}

void workers_with_different_numbers_of_replicas_are_dealt_to_by_replica(void **) {
    const Dealing dealing = by(MDIST_SHARD_AUTO);
    const Steps alone = dealt(batches(53, 13), 1, 7, dealing)[0]; // for one worker the orders are one
    for (const Spans &spans : {Spans({3, 3, 1}), Spans({1, 4, 2}), Spans({1, 6})}) {
        const Job job = dealt(batches(53, 13), spans, dealing);
        for (std::size_t step = 0; step < alone.size(); ++step)
            for (uint32_t id = 0; id < 7; ++id) {
                const uint32_t worker = spans.worker_of(id);
                assert_true(job[worker][step][id - spans[worker].first] == alone[step][id]);
            }
    }
    const auto explained = make_plan(batches(53, 13)(), {Spans({3, 3, 1}), 2}, dealing).text;
    assert_non_null(std::strstr(explained.c_str(), "3 workers of 3+3+1 replicas; each reads everything"));
    assert_non_null(std::strstr(explained.c_str(), "slice j is for replica j"));
}

void only_shared_batches_need_no_word(void **) {
    const auto known = [](int32_t policy, uint64_t workers, bool split) {
        Dealing dealing = by(policy);
        dealing.split = split;
        return make_plan(batches(8, 4)(), even(workers, 0, 2), dealing).common_knowledge;
    };
    assert_true(known(MDIST_SHARD_AUTO, 2, true));
    assert_true(known(MDIST_SHARD_OFF, 1, true));
    assert_false(known(MDIST_SHARD_OFF, 2, true));
    assert_false(known(MDIST_SHARD_AUTO, 2, false));
    assert_false(known(MDIST_SHARD_MARKED, 2, true));
}

void endless_is_what_certainly_never_ends(void **) {
    const auto endless = [](const std::shared_ptr<const Dataset> &source) {
        return make_plan(make_batch(source, 4, false), even(2, 1, 1), by(MDIST_SHARD_MARKED)).endless;
    };
    assert_true(endless(make_repeat(numbers(3), MDIST_FOREVER)));
    assert_false(endless(make_repeat(numbers(3), 5)));
    assert_false(endless(make_repeat(numbers(0), MDIST_FOREVER)));
    assert_false(endless(make_take(make_repeat(numbers(3), MDIST_FOREVER), 9)));
    // Of too few elements some worker would have none to repeat.
    assert_false(endless(make_repeat(make_shard(numbers(3), MDIST_ONE_PER_WORKER, 0), MDIST_FOREVER)));
    assert_true(endless(make_zip({make_repeat(numbers(3), MDIST_FOREVER), make_repeat(numbers(3), MDIST_FOREVER)})));
    assert_false(endless(make_zip({make_repeat(numbers(3), MDIST_FOREVER), numbers(3)})));
    assert_true(endless(make_concatenate(numbers(3), make_repeat(numbers(3), MDIST_FOREVER))));
}

void slices_are_views_of_the_batch(void **) {
    std::vector<int64_t> room(12);
    mdist_tensor_t array = output(MDIST_INT64, {2, 6});
    array.data = room.data();
    Iterator iterator(make_plan(make_from_tensors(&array, 1, nullptr), even(1, 0, 2), by(MDIST_SHARD_AUTO)).parts);
    bool views = true;
    for (std::size_t i = 0; i < 4; ++i)
        iterator.next([&](const Element &element) { views &= element.tensor(0).data() == &room[3 * i]; });
    assert_true(views);
}

void what_cannot_be_split_is_refused_with_the_remedy(void **) {
    for (const uint64_t replicas : {1, 2})
        assert_says(failure_of([&] { make_plan(numbers(5), even(1, 0, replicas), by(MDIST_SHARD_AUTO)); }),
                    MDIST_ERR_INVALID_ARGUMENT, "mdist_dataset_batch");
    assert_says(failure_of([] { make_plan(batches(1024, 4)(), even(10, 0, 1), by(MDIST_SHARD_FILE)); }),
                MDIST_ERR_NOT_FOUND, "from_tensors(1024 rows of int64 []) reads no files");
    std::vector<int64_t> room(12);
    mdist_tensor_t arrays[2] = {output(MDIST_INT64, {2, 6}), output(MDIST_INT64, {2, 3})};
    arrays[0].data = arrays[1].data = room.data();
    const InputPlan uneven = make_plan(make_from_tensors(arrays, 2, nullptr), even(1, 0, 2), by(MDIST_SHARD_AUTO));
    Iterator iterator(uneven.parts);
    for (int i = 0; i < 2; ++i) // the second time from memory
        assert_says(failure_of([&] { take_nothing(iterator); }), MDIST_ERR_INVALID_ARGUMENT, "has 3 rows");
}

} // namespace

SUBJECT(data_plan) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(auto_and_data_deal_slices_of_batches_out_in_turn),
        cmocka_unit_test(a_batch_smaller_than_the_job_leaves_some_without),
        cmocka_unit_test(off_deals_rows_out_across_the_borders_of_batches),
        cmocka_unit_test(one_worker_gets_the_old_rule_from_memory_and_the_new_one_with_off),
        cmocka_unit_test(one_replica_gets_the_dataset_as_it_is),
        cmocka_unit_test(sizes_of_0_are_batches_of_no_rows),
        cmocka_unit_test(whole_elements_go_to_replicas_in_turn),
        cmocka_unit_test(every_second_number_of_1024_is_for_the_first_of_two),
        cmocka_unit_test(a_hint_becomes_the_workers_shard),
        cmocka_unit_test(a_hint_that_nobody_replaces_cannot_be_iterated),
        cmocka_unit_test(spread_leaves_nobody_idle_while_others_have_two),
        cmocka_unit_test(drop_gives_all_alike_or_nothing),
        cmocka_unit_test(weights_share_rows_out_in_proportion_by_replica),
        cmocka_unit_test(weights_that_say_nothing_are_refused),
        cmocka_unit_test(by_replica_gives_the_same_rows_in_every_layout),
        cmocka_unit_test(workers_with_different_numbers_of_replicas_are_dealt_to_by_replica),
        cmocka_unit_test(only_shared_batches_need_no_word),
        cmocka_unit_test(endless_is_what_certainly_never_ends),
        cmocka_unit_test(slices_are_views_of_the_batch),
        cmocka_unit_test(what_cannot_be_split_is_refused_with_the_remedy),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
