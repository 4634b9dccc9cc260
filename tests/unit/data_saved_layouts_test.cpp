// SPDX-License-Identifier: Apache-2.0
// Positions that depend on the layout, as a dealt-out dataset tells it, and counts of iterations that go on.
#include "data_support.h"
#include "subject.h"

namespace {

/// Its first elements are the same in every layout up to a border, behind which it tells where it is.
class Laid final : public Transform {
  public:
    Laid(Source source, std::string layout, uint64_t border)
        : Transform(source, source->spec()), layout_(std::move(layout)), border_(border) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override { return source().open(iteration); }
    std::string description() const override { return source().description(); }
    std::string layout(uint64_t taken) const override { return taken > border_ ? layout_ : ""; }

  private:
    std::string layout_;
    uint64_t border_;
};

std::shared_ptr<Dataset> laid(const char *layout) {
    return std::make_shared<Laid>(make_range(0, 9, 1), layout, 3);
}

void take(Iterator &iterator, int count) {
    while (count-- > 0) assert_true(take_nothing(iterator));
}

void positions_of_another_layout_are_refused_where_they_differ(void **) {
    for (int taken = 0; taken <= 5; ++taken) {
        Iterator saved(laid("policy FILE, 2 workers"));
        take(saved, taken);
        const IteratorState state = parse_iterator_state(encode_iterator_state(saved.state()));
        const auto same = std::make_shared<Iterator>(laid("policy FILE, 2 workers"));
        Restoring(same, state).commit();
        assert_int_equal(items(*same).size(), 9 - taken);
        const auto other = std::make_shared<Iterator>(laid("policy FILE, 3 workers"));
        const Failure failure = failure_of([&] { Restoring(other, state).commit(); });
        if (taken > 3) {
            assert_says(failure, MDIST_ERR_MISMATCH, "policy FILE, 2 workers");
            assert_says(failure, MDIST_ERR_MISMATCH, "policy FILE, 3 workers");
            assert_string_equal(failure.reason().c_str(), "different_layout");
        }
        assert_int_equal(items(*other).size(), taken > 3 ? 9 : 9 - taken);
    }
}

void a_restored_iterator_takes_counts_forward_and_never_back(void **) {
    const auto dataset = make_shuffle(make_range(0, 50, 1), 50, 1, true);
    std::vector<std::vector<int64_t>> orders;
    for (int i = 0; i < 4; ++i) orders.push_back(flat(items(dataset)));

    const auto other = make_shuffle(make_range(0, 50, 1), 50, 1, true);
    const auto moved = std::make_shared<Iterator>(other); // the first
    IteratorState state = moved->state();
    state.orders = {2};
    Restoring(moved, state).commit();
    assert_true(flat(items(*moved)) == orders[2]);
    assert_true(flat(items(other)) == orders[3]);
    state.orders = {0};
    Restoring(moved, state).commit();
    assert_true(flat(items(*moved)) == orders[0]);
    assert_true(flat(items(other)) == flat(items(make_skip(dataset, 0)))); // both their fifth
}

void what_is_not_committed_counts_nothing(void **) {
    const auto dataset = make_shuffle(make_range(0, 50, 1), 50, 1, true),
               twin = make_shuffle(make_range(0, 50, 1), 50, 1, true);
    const auto iterator = std::make_shared<Iterator>(dataset);
    IteratorState state = iterator->state();
    state.orders = {7};
    { const Restoring given_up(iterator, state); }
    assert_true(flat(items(*iterator)) == flat(items(twin)));
    assert_true(flat(items(dataset)) == flat(items(twin)));
}

void nobody_else_uses_an_iterator_that_is_restored(void **) {
    const auto iterator = std::make_shared<Iterator>(make_range(0, 9, 1));
    const IteratorState state = iterator->state();
    {
        const Restoring restoring(iterator, state);
        assert_says(failure_of([&] { take_nothing(*iterator); }), MDIST_ERR_FAILED_PRECONDITION, "one call at a time");
        assert_says(failure_of([&] { Restoring(iterator, state); }), MDIST_ERR_FAILED_PRECONDITION,
                    "one call at a time");
    }
    assert_int_equal(items(*iterator).size(), 9);
}

void readers_are_told_apart_by_all_that_changes_their_records(void **) {
    Reading base = {};
    base.format.kind = RecordFormat::Kind::kFixed;
    base.format.record_bytes = 8;
    base.format.max_record_bytes = 1 << 20;
    std::vector<Reading> others(8, base);
    others[0].format.kind = RecordFormat::Kind::kLines;
    others[1].format.record_bytes = 4;
    others[2].format.header_bytes = 16;
    others[3].format.footer_bytes = 16;
    others[4].format.compression = MDIST_COMPRESSION_GZIP;
    others[5].skip_corrupt = true;
    others[6].cycle_length = 2;
    others[7].block_length = 2;
    const auto names = make_files({"a", "b"});
    const auto described = [&](const Reading &reading) { return make_records(names, reading)->description(); };
    std::vector<std::string> all = {described(base)};
    for (const Reading &other : others) all.push_back(described(other));
    std::sort(all.begin(), all.end());
    assert_true(std::adjacent_find(all.begin(), all.end()) == all.end());

    Reading ahead = base;
    ahead.parallel_files = 2;
    assert_string_equal(described(ahead).c_str(), described(base).c_str());
}

} // namespace

SUBJECT(data_saved_layouts) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(positions_of_another_layout_are_refused_where_they_differ),
        cmocka_unit_test(readers_are_told_apart_by_all_that_changes_their_records),
        cmocka_unit_test(a_restored_iterator_takes_counts_forward_and_never_back),
        cmocka_unit_test(what_is_not_committed_counts_nothing),
        cmocka_unit_test(nobody_else_uses_an_iterator_that_is_restored),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
