// SPDX-License-Identifier: Apache-2.0
// Batches cut over replicas, against examples and the definition.
#include "data_support.h"

namespace {

using Rows = std::vector<std::vector<int64_t>>; // of one step, one entry per replica

std::vector<Rows> steps(const std::shared_ptr<const Dataset> &dataset) {
    Iterator iterator(dataset);
    std::vector<Rows> all;
    while (iterator.next([&](const Element &element) {
        Rows step;
        for (std::size_t i = 0; i < element.count(); ++i) step.push_back(item(element.tensor(i)).values);
        all.push_back(step);
    }))
        continue;
    return all;
}

std::shared_ptr<Dataset> batches(uint64_t rows, uint64_t size) {
    return make_batch(numbers(rows), size, false);
}

void batches_of_4_go_to_3_replicas_as_2_2_0(void **) {
    const std::vector<Rows> expected = {{{0, 1}, {2, 3}, {}}, {{4, 5}, {6, 7}, {}}, {{8}, {9}, {}}};
    assert_true(steps(make_split(batches(10, 4), 1, 0, 3)) == expected);
}

void every_row_goes_where_the_definition_says(void **) {
    for (uint64_t rows = 1; rows <= 20; ++rows)
        for (uint64_t replicas = 1; replicas <= 5; ++replicas) {
            Rows expected(replicas);
            const uint64_t most = (rows + replicas - 1) / replicas;
            for (uint64_t row = 0; row < rows; ++row) expected[row / most].push_back(static_cast<int64_t>(row));
            const std::vector<Rows> got = steps(make_split(batches(rows, rows), 1, 0, replicas));
            assert_int_equal(got.size(), 1);
            assert_true(got[0] == expected);
        }
}

void a_batch_of_no_rows_still_reaches_every_replica(void **) {
    mdist_tensor_t array = output(MDIST_INT64, {2, 0}); // two elements of no rows
    const std::vector<Rows> expected = {{{}, {}, {}}, {{}, {}, {}}};
    assert_true(steps(make_split(make_from_tensors(&array, 1, nullptr), 1, 0, 3)) == expected);
}

void workers_take_turns(void **) {
    const std::vector<Rows> w0 = {{{0}, {2}}, {{4}, {6}}, {{8}, {}}};
    const std::vector<Rows> w1 = {{{1}, {3}}, {{5}, {7}}, {{9}, {}}};
    assert_true(steps(make_split(batches(10, 4), 2, 0, 2)) == w0);
    assert_true(steps(make_split(batches(10, 4), 2, 1, 2)) == w1);
    const std::vector<Rows> v0 = {{{0, 1}, {4, 5}}};
    const std::vector<Rows> v1 = {{{2, 3}, {6, 7}}};
    assert_true(steps(make_split(batches(8, 8), 2, 0, 2)) == v0);
    assert_true(steps(make_split(batches(8, 8), 2, 1, 2)) == v1);
    const std::vector<Rows> u0 = {{{0, 1}}, {{5, 6}}, {{10}}};
    const std::vector<Rows> u1 = {{{2, 3}}, {{7, 8}}, {{}}};
    const std::vector<Rows> u2 = {{{4}}, {{9}}, {{}}};
    assert_true(steps(make_split(batches(11, 5), 3, 0, 1)) == u0);
    assert_true(steps(make_split(batches(11, 5), 3, 1, 1)) == u1);
    assert_true(steps(make_split(batches(11, 5), 3, 2, 1)) == u2);
}

void slices_are_views_of_the_batch(void **) {
    std::vector<int64_t> room(12);
    mdist_tensor_t array = output(MDIST_INT64, {2, 6});
    array.data = room.data();
    Iterator iterator(make_split(make_from_tensors(&array, 1, nullptr), 1, 0, 2));
    bool views = true;
    for (std::size_t row = 0; row < 2; ++row)
        iterator.next([&](const Element &element) {
            views &= element.tensor(0).data() == &room[6 * row] && element.tensor(1).data() == &room[6 * row + 3];
        });
    assert_true(views);
}

void what_cannot_be_split_is_refused_with_the_remedy(void **) {
    assert_says(failure_of([] { make_split(numbers(5), 1, 0, 2); }), MDIST_ERR_INVALID_ARGUMENT, "mdist_dataset_batch");
    std::vector<int64_t> room(12);
    mdist_tensor_t arrays[2] = {output(MDIST_INT64, {2, 6}), output(MDIST_INT64, {2, 3})};
    arrays[0].data = arrays[1].data = room.data();
    const auto uneven = make_split(make_from_tensors(arrays, 2, nullptr), 1, 0, 2);
    Iterator iterator(uneven);
    for (int i = 0; i < 2; ++i) // the second time from memory
        assert_says(failure_of([&] { take_nothing(iterator); }), MDIST_ERR_INVALID_ARGUMENT, "has 3 rows");
    assert_says(failure_of([&] { make_batch(uneven, 2, false); }), MDIST_ERR_FAILED_PRECONDITION, "distribute");
    assert_says(failure_of([&] { make_split(uneven, 1, 0, 2); }), MDIST_ERR_FAILED_PRECONDITION, "distribute");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_4_go_to_3_replicas_as_2_2_0),
        cmocka_unit_test(every_row_goes_where_the_definition_says),
        cmocka_unit_test(a_batch_of_no_rows_still_reaches_every_replica),
        cmocka_unit_test(workers_take_turns),
        cmocka_unit_test(slices_are_views_of_the_batch),
        cmocka_unit_test(what_cannot_be_split_is_refused_with_the_remedy),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
