// SPDX-License-Identifier: Apache-2.0
// How files are dealt out to workers, and what a plan says of itself.
#include "plan_support.h"

#include "data/distribute/describe.h"
#include "subject.h"

namespace {

/// `count` files of `rows` numbers each: file f begins at 100 f.
class Folder : public NumberFiles {
  public:
    Folder(int64_t count, int64_t rows) {
        for (int64_t file = 0; file < count; ++file) add(100 * file, rows);
    }
};

std::string worker(const Make &make, uint64_t workers, uint64_t worker, uint64_t replicas, const Dealing &dealing) {
    return shown(dealt(make_plan(make(), even(workers, worker, replicas), dealing), replicas));
}

void two_files_for_two_workers(void **) {
    const Folder files(2, 7);
    const Make make = [&] { return make_batch(numbers_in(files.names()), 7, false); };
    for (const int32_t policy : {MDIST_SHARD_AUTO, MDIST_SHARD_FILE}) {
        const Job job = dealt(make, 2, 2, by(policy));
        assert_string_equal(shown(job[0]).c_str(), "[0 1] [2 3] | [4 5] [6]");
        assert_string_equal(shown(job[1]).c_str(), "[100 101] [102] | [103 104] [105 106]");
    }
}

void workers_of_fewer_rows_end_with_steps_without(void **) {
    NumberFiles files;
    files.add(0, 5);
    files.add(100, 7);
    files.add(200, 4);
    const Job job = dealt([&] { return make_batch(numbers_in(files.names()), 4, false); }, 2, 1, by(MDIST_SHARD_AUTO));
    assert_string_equal(shown(job[0]).c_str(), "[0 1] | [2 3] | [4 200] | [201 202] | [203]");
    assert_string_equal(shown(job[1]).c_str(), "[100 101] | [102 103] | [104 105] | [106] | []");
}

void one_worker_reads_all_files_by_the_new_rule(void **) {
    const Folder files(2, 4);
    const Make make = [&] { return make_batch(numbers_in(files.names()), 3, false); };
    for (const int32_t policy : {MDIST_SHARD_AUTO, MDIST_SHARD_FILE, MDIST_SHARD_MARKED, MDIST_SHARD_OFF})
        assert_string_equal(worker(make, 1, 0, 2, by(policy)).c_str(), "[0 1] [2] | [3 100] [101] | [102 103] []");
    assert_string_equal(worker(make, 1, 0, 2, by(MDIST_SHARD_DATA)).c_str(), "[0 1] [2] | [3 100] [101] | [102] [103]");
}

void ten_files_of_five_workers(void **) {
    const Folder files(10, 3);
    Dealing whole = by(MDIST_SHARD_FILE);
    whole.split = false;
    const Make make = [&] { return make_batch(numbers_in(files.names()), 5, false); };
    assert_string_equal(worker(make, 5, 0, 1, whole).c_str(), "[0 1 2 500 501] | [502]");
    assert_string_equal(worker(make, 5, 3, 1, whole).c_str(), "[300 301 302 800 801] | [802]");
}

void too_few_files_are_told_to_all_workers(void **) {
    const Folder files(2, 7);
    for (const int32_t policy : {MDIST_SHARD_AUTO, MDIST_SHARD_FILE})
        for (uint64_t w = 0; w < 3; ++w) {
            const Failure failure = failure_of(
                [&] { make_plan(make_batch(numbers_in(files.names()), 7, false), even(3, w, 1), by(policy)); });
            assert_says(failure, MDIST_ERR_FAILED_PRECONDITION, "reads 2 files, which is not enough for 3 workers");
            assert_string_equal(failure.reason().c_str(), "too_few_files");
        }
    for (const int32_t policy : {MDIST_SHARD_OFF, MDIST_SHARD_DATA, MDIST_SHARD_MARKED}) // these need none
        make_plan(make_batch(numbers_in(files.names()), 7, false), even(3, 0, 1), by(policy));
}

void no_files_at_all_are_too_few_in_any_layout(void **) {
    const Folder none(0, 0);
    for (const int32_t policy : {MDIST_SHARD_AUTO, MDIST_SHARD_FILE})
        for (const uint32_t workers : {1u, 3u}) {
            const Failure failure = failure_of(
                [&] { make_plan(make_batch(numbers_in(none.names()), 7, false), even(workers, 0, 1), by(policy)); });
            assert_says(failure, MDIST_ERR_FAILED_PRECONDITION, "reads 0 files");
            assert_string_equal(failure.reason().c_str(), "too_few_files");
        }
}

void the_names_right_before_the_reader_are_sharded(void **) {
    const Folder files(4, 1);
    Dealing whole = by(MDIST_SHARD_FILE);
    whole.split = false;
    const Make twice = [&] { return numbers_in(make_repeat(make_take(files.names(), 3), 2)); };
    assert_string_equal(worker(twice, 2, 0, 1, whole).c_str(), "[0] | [200] | [100]");
    assert_string_equal(worker(twice, 2, 1, 1, whole).c_str(), "[100] | [0] | [200]");
    const Make own = [&] { return numbers_in(make_shard(files.names(), 2, 1)); };
    assert_string_equal(worker(own, 2, 1, 1, whole).c_str(), "[300]");
}

void shuffles_of_names_move_behind_the_shard(void **) {
    const Folder files(12, 2);
    std::vector<Rows> got;
    for (uint64_t w = 0; w < 3; ++w) {
        // Another seed on each worker, and a take that must not take others.
        auto names = make_take(make_shuffle(files.names(), MDIST_FOREVER, 7 + w, true), 11);
        names = make_shuffle(names, 5, w, false);
        Rows rows = all_rows(
            {dealt(make_plan(make_batch(numbers_in(names), 4, false), even(3, w, 2), by(MDIST_SHARD_FILE)), 2)});
        assert_false(std::is_sorted(rows.begin(), rows.end()));
        std::sort(rows.begin(), rows.end());
        Rows expected;
        for (int64_t file = static_cast<int64_t>(w); file < 11; file += 3)
            for (const int64_t row : {100 * file, 100 * file + 1}) expected.push_back(row);
        assert_true(rows == expected);
    }
}

void an_endless_shuffle_of_names_goes_on(void **) {
    const Folder files(4, 1);
    const auto names = make_repeat(make_shuffle(files.names(), MDIST_FOREVER, 1, true), MDIST_FOREVER);
    const InputPlan plan = make_plan(make_batch(numbers_in(names), 4, false), even(2, 0, 1), by(MDIST_SHARD_FILE));
    assert_int_equal(dealt(plan, 1, 50).size(), 50);
}

void every_branch_needs_a_reader(void **) {
    const Folder files(2, 2), more(4, 2);
    const auto chosen = [](const std::shared_ptr<const Dataset> &source) {
        return make_plan(make_batch(source, 2, false), even(2, 1, 1), by(MDIST_SHARD_AUTO)).policy;
    };
    const auto a = numbers_in(files.names()), b = numbers_in(more.names());
    assert_int_equal(chosen(make_concatenate(a, b)), MDIST_SHARD_FILE);
    assert_int_equal(chosen(make_zip({a, b})), MDIST_SHARD_FILE);
    assert_int_equal(chosen(make_concatenate(a, numbers(4))), MDIST_SHARD_DATA);
    assert_int_equal(chosen(make_zip({numbers(4), a})), MDIST_SHARD_DATA);
    const Make both = [&] { return make_batch(make_concatenate(a, b), 4, false); };
    assert_string_equal(worker(both, 2, 1, 1, by(MDIST_SHARD_AUTO)).c_str(), "[100 101] | [100 101] | [300 301]");
    // A branch that was sharded before the other turned out to have no reader is not.
    const Make mixed = [&] { return make_batch(make_concatenate(a, numbers(2)), 2, false); };
    assert_string_equal(worker(mixed, 2, 1, 1, by(MDIST_SHARD_AUTO)).c_str(), "[1] | [101] | [1]");
}

void no_transform_hides_the_reader(void **) {
    const Folder files(5, 4);
    Dealing whole = by(MDIST_SHARD_AUTO);
    whole.split = false;
    const Make make = [&] {
        const auto rows = make_unbatch(make_batch(numbers_in(files.names()), 3, false));
        return make_prefetch(make_unbatch(make_rebatch(make_padded_batch(rows, 2, false, nullptr, 0), {3}, false)), 2);
    };
    for (const int32_t policy : {MDIST_SHARD_AUTO, MDIST_SHARD_FILE}) {
        whole.policy = policy;
        assert_int_equal(make_plan(make(), even(2, 0, 1), whole).policy, MDIST_SHARD_FILE);
        assert_string_equal(worker(make, 2, 1, 1, whole).c_str(),
                            "[100] | [101] | [102] | [103] | [300] | [301] | [302] | [303]");
    }
}

void a_dataset_used_twice_stays_one(void **) {
    const Folder files(4, 2);
    const auto cached = make_cache(numbers_in(files.names()));
    const InputPlan plan =
        make_plan(make_batch(make_concatenate(cached, cached), 2, false), even(2, 0, 1), by(MDIST_SHARD_FILE));
    const Dataset &concatenated = *plan.parts->sources()[0]->sources()[0];
    assert_ptr_equal(concatenated.sources()[0].get(), concatenated.sources()[1].get());
    assert_ptr_not_equal(concatenated.sources()[0].get(), cached.get());
}

void a_cache_holds_what_came_from_its_own_sources(void **) {
    const Folder files(2, 2);
    const auto cached = make_cache(numbers_in(files.names()));
    assert_int_equal(items(cached).size(), 4); // full
    const Make make = [&] { return make_batch(cached, 2, false); };
    assert_string_equal(worker(make, 2, 1, 1, by(MDIST_SHARD_FILE)).c_str(), "[100] | [101]");
    assert_int_equal(items(cached).size(), 4);
}

void shuffles_go_on_counting(void **) {
    const Folder files(2, 40);
    const auto shuffled = [&] { return make_shuffle(numbers_in(files.names()), 100, 3, true); };
    const auto plan_of = [](const std::shared_ptr<const Dataset> &source) {
        return make_plan(make_batch(source, 8, false), even(2, 0, 1), by(MDIST_SHARD_FILE));
    };
    const auto one = shuffled(), other = shuffled();
    const InputPlan first = plan_of(one), second = plan_of(other);
    assert_true(dealt(first, 1) == dealt(second, 1));
    items(other); // an iterator of what it was made from
    assert_false(dealt(first, 1) == dealt(second, 1));
    items(one);
    assert_true(dealt(first, 1) == dealt(second, 1));
}

void owners_live_as_long_as_what_was_rebuilt(void **) {
    const Folder files(2, 2);
    auto owner = std::make_shared<int>(0);
    const auto keep = [](const mdist_tensor_t *, std::size_t, int32_t *out, void *) -> int32_t { return *out = 1, 0; };
    InputPlan plan = make_plan(make_batch(make_filter(numbers_in(files.names()), keep, nullptr, owner), 2, false),
                               even(2, 0, 1), by(MDIST_SHARD_FILE));
    assert_int_equal(owner.use_count(), 2);
    assert_string_equal(shown(dealt(plan, 1)).c_str(), "[0] | [1]");
    plan = {};
    assert_int_equal(owner.use_count(), 1);
}

void a_plan_says_what_it_does(void **) {
    InputPlan plan = make_plan(make_batch(make_shuffle(make_range(0, 10, 1), 5, 7, false), 4, false), even(2, 1, 2),
                               by(MDIST_SHARD_AUTO));
    assert_string_equal(plan.text.c_str(),
                        "policy: AUTO -> DATA: range(10 numbers from 0, step 1) reads no files\n"
                        "workers: 2, with 2 replicas each; each reads everything and keeps its part\n"
                        "batch: 4 rows\n"
                        "sub-batches: each batch in 4 slices: ceil(rows / 4) each, as long as there are rows; slice j "
                        "is for worker j mod 2, there for each replica in turn\n"
                        "rows of each replica of the job, by id, of full batches:\n"
                        "  step 0: 1 1 1 1\n"
                        "how worker 1 makes them:\n"
                        "range(10 numbers from 0, step 1)\n"
                        "shuffle(5, seed 7, every time alike)\n"
                        "batch(4)\n"
                        "slices(1, 3 of 4: ceil(rows / 4) each, as long as there are rows)\n");
    const Folder files(5, 2);
    plan = make_plan(make_batch(numbers_in(files.names()), 7, false), even(2, 0, 2), by(MDIST_SHARD_FILE));
    assert_string_equal(plan.text.c_str(),
                        "policy: FILE: records are read from files\n"
                        "workers: 2, with 2 replicas each; each reads files of its own\n"
                        "files: fixed_records(8 bytes, 1 file at a time) of 5; each worker 3, 2\n"
                        "batch: 7 rows\n"
                        "sub-batches: consecutive rows, across the borders of batches\n"
                        "rows of each replica of the job, by id, of full batches:\n"
                        "  step 0: 2 2 2 1\n"
                        "  step 1: 2 1 2 2\n"
                        "how worker 0 makes them:\n"
                        "files(5)\n"
                        "shard(2, 0)\n"
                        "fixed_records(8 bytes, 1 file at a time)\n"
                        "map(int64 [])\n"
                        "batch(7)\n"
                        "rebatch(2, 2, 2, 1)\n");
}

void readers_of_the_same_shuffled_names_stay_in_step(void **) {
    const Folder files(8, 1);
    Dealing whole = by(MDIST_SHARD_FILE);
    whole.split = false;
    const auto names = make_shuffle(files.names(), 8, 3, false);
    const auto pairs = make_zip({numbers_in(names), numbers_in(names)});
    for (uint64_t w = 0; w < 2; ++w) {
        Iterator iterator(make_plan(pairs, even(2, w, 1), whole).parts);
        Rows first, second;
        while (iterator.next([&](const Element &element) {
            first.push_back(item(element.tensor(0)).values[0]);
            second.push_back(item(element.tensor(1)).values[0]);
        }))
            continue;
        assert_int_equal(first.size(), 4);
        assert_true(first == second);
        assert_false(std::is_sorted(first.begin(), first.end()));
    }
}

void a_pipeline_is_told_from_its_sources_on(void **) {
    const auto both = make_zip({make_take(make_range(0, 9, 1), 3), make_repeat(make_cache(numbers(2)), MDIST_FOREVER)});
    assert_string_equal(describe(*make_batch(both, 2, true)).c_str(),
                        "zip of\n"
                        "  1: range(9 numbers from 0, step 1)\n"
                        "     take(3)\n"
                        "  2: from_tensors(2 rows of int64 [])\n"
                        "     cache\n"
                        "     repeat\n"
                        "batch(2, whole ones)\n"
                        "elements of int64 [2]; int64 [2]\n");
    // What would be millions of lines is cut short.
    std::shared_ptr<const Dataset> all = numbers(1);
    for (int i = 0; i < 12; ++i) all = make_concatenate(all, all);
    const std::string told = describe(*all);
    assert_true(std::count(told.begin(), told.end(), '\n') < 250);
}

} // namespace

SUBJECT(data_plan_files) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(two_files_for_two_workers),
        cmocka_unit_test(workers_of_fewer_rows_end_with_steps_without),
        cmocka_unit_test(one_worker_reads_all_files_by_the_new_rule),
        cmocka_unit_test(ten_files_of_five_workers),
        cmocka_unit_test(too_few_files_are_told_to_all_workers),
        cmocka_unit_test(no_files_at_all_are_too_few_in_any_layout),
        cmocka_unit_test(the_names_right_before_the_reader_are_sharded),
        cmocka_unit_test(shuffles_of_names_move_behind_the_shard),
        cmocka_unit_test(an_endless_shuffle_of_names_goes_on),
        cmocka_unit_test(every_branch_needs_a_reader),
        cmocka_unit_test(no_transform_hides_the_reader),
        cmocka_unit_test(a_dataset_used_twice_stays_one),
        cmocka_unit_test(a_cache_holds_what_came_from_its_own_sources),
        cmocka_unit_test(shuffles_go_on_counting),
        cmocka_unit_test(owners_live_as_long_as_what_was_rebuilt),
        cmocka_unit_test(a_plan_says_what_it_does),
        cmocka_unit_test(readers_of_the_same_shuffled_names_stay_in_step),
        cmocka_unit_test(a_pipeline_is_told_from_its_sources_on),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
