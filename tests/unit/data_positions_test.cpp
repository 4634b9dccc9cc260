// SPDX-License-Identifier: Apache-2.0
// Positions in datasets that are dealt out: another job goes on where one stopped, so that no row is lost or seen
// twice; or is refused, where its steps are others.
#include "plan_support.h"

#include "data/distribute/deal.h"
#include "subject.h"

namespace {

struct Size {
    Size(uint64_t workers, uint64_t each) : spans(even(workers, 0, each).spans) {}
    Size(Spans different) : spans(std::move(different)) {}
    Spans spans;
};

/// With workers who always have something.
class Others final : public Agreement {
  public:
    void require_place() override {}
    StepRows agree(FunctionRef<StepRows()> take) override {
        StepRows rows = take();
        rows.push_back(0);
        return rows;
    }
};

constexpr int kAllSteps = 70; // and more than there are

/// The iterators of all workers, each with a dataset of its own.
class Workers {
  public:
    Workers(const Make &make, const Size &size, const Dealing &dealing) {
        for (uint32_t worker = 0; worker < size.spans.workers(); ++worker) {
            replicas_.push_back(size.spans[worker].count());
            InputPlan plan = make_plan(make(), {size.spans, worker}, dealing);
            Deal deal = {.replicas = replicas_.back(), .source = plan.source, .place = plan.place};
            if (!plan.common_knowledge) deal.agreement = [] { return std::make_shared<Others>(); };
            iterators_.push_back(std::make_shared<Iterator>(make_dealt({std::move(plan.parts)}, std::move(deal))));
        }
    }

    /// Rows of all replicas in the next `steps`, in order of their numbers.
    Rows take(int steps = kAllSteps) {
        Rows rows;
        for (std::size_t i = 0; i < iterators_.size(); ++i)
            for (int step = 0; step < steps && next(*iterators_[i], replicas_[i], rows); ++step) continue;
        std::sort(rows.begin(), rows.end());
        return rows;
    }

    /// The same text from all.
    std::string saved() {
        const std::string text = encode_iterator_state(iterators_[0]->state());
        for (const auto &iterator : iterators_)
            assert_string_equal(encode_iterator_state(iterator->state()).c_str(), text.c_str());
        return text;
    }

    void restore(const std::string &text) {
        for (const auto &iterator : iterators_) Restoring(iterator, parse_iterator_state(text)).commit();
    }

  private:
    static bool next(Iterator &iterator, uint64_t replicas, Rows &rows) {
        return iterator.next([&](const Element &element) {
            for (std::size_t i = 0; i < replicas; ++i) {
                const Item part = item(element.tensor(i));
                rows.insert(rows.end(), part.values.begin(), part.values.end());
            }
        });
    }

    std::vector<uint64_t> replicas_; // of each worker
    std::vector<std::shared_ptr<Iterator>> iterators_;
};

/// `steps` steps of a job of `before`, the rest by one of `after`, and all is there as in one run of the first.
void goes_on(const Make &make, const Dealing &dealing, const Size &before, int steps, const Size &after) {
    const Rows all = Workers(make, before, dealing).take();
    Workers first(make, before, dealing);
    Rows seen = first.take(steps);
    Workers second(make, after, dealing);
    second.restore(first.saved());
    const Rows rest = second.take();
    seen.insert(seen.end(), rest.begin(), rest.end());
    std::sort(seen.begin(), seen.end());
    assert_true(seen == all);
}

void is_refused(const Make &make, const Dealing &dealing, const Size &before, const Dealing &other, const Size &after,
                const std::string &place) {
    Workers first(make, before, dealing);
    first.take(1);
    Workers second(make, after, other);
    const Rows all = Workers(make, after, other).take();
    const std::string text = first.saved();
    const Failure failure = failure_of([&] { second.restore(text); });
    assert_says(failure, MDIST_ERR_MISMATCH, place);
    assert_string_equal(failure.reason().c_str(), "different_layout");
    assert_true(second.take() == all); // it stands where it stood
}

void is_refused(const Make &make, const Dealing &dealing, const Size &before, const Size &after,
                const std::string &place) {
    is_refused(make, dealing, before, dealing, after, place);
}

Dealing weighted(int32_t policy, std::vector<double> weights) {
    Dealing dealing = by(policy);
    dealing.weights = std::move(weights);
    return dealing;
}

Size random_layout(std::mt19937_64 &random) {
    std::vector<uint32_t> counts(1 + random() % 3, static_cast<uint32_t>(1 + random() % 3));
    if (random() % 2 == 0) counts[0] = static_cast<uint32_t>(1 + random() % 3);
    return Spans(counts);
}

std::shared_ptr<const Dataset> mixed_batches(uint64_t rows, uint64_t batch) {
    return make_batch(make_shuffle(numbers(rows), rows, 5, true), batch, false);
}

void batches_that_all_read_go_on_in_any_layout(void **) {
    std::mt19937_64 random(test_seed(11));
    const auto below = [&](uint64_t bound) { return random() % bound; };
    for (int round = 0; round < 300; ++round) {
        const uint64_t rows = 1 + below(60), batch = 1 + below(9);
        const Size before = random_layout(random), after = random_layout(random);
        Dealing dealing = by(MDIST_SHARD_DATA);
        dealing.by_replica = below(2) == 0;
        if (below(3) == 0) dealing.uneven = MDIST_UNEVEN_SPREAD;
        goes_on([&] { return mixed_batches(rows, batch); }, dealing, before, static_cast<int>(below(rows / batch + 2)),
                after);
    }
}

void so_do_files_of_one_worker_and_whole_batches(void **) {
    NumberFiles files;
    for (int64_t file = 0; file < 4; ++file) files.add(100 * file, 5);
    const Make make = [&] { return make_prefetch(make_batch(numbers_in(files.names()), 6, false), 2); };
    for (int steps = 0; steps < 5; ++steps)
        for (uint64_t replicas = 1; replicas <= 4; ++replicas)
            goes_on(make, by(MDIST_SHARD_AUTO), {1, 2}, steps, {1, replicas});
}

void and_shares_of_files_that_are_as_large_on_each_worker(void **) {
    NumberFiles files;
    files.add(0, 9);
    files.add(100, 5);
    files.add(200, 3);
    const Make make = [&] { return make_batch(numbers_in(files.names()), 8, false); };
    for (int steps = 0; steps < 5; ++steps) {
        goes_on(make, by(MDIST_SHARD_FILE), {2, 1}, steps, {2, 2});
        goes_on(make, by(MDIST_SHARD_FILE), {2, 4}, steps, {2, 1});
        goes_on(make, by(MDIST_SHARD_FILE), {3, 2}, steps, {3, 2});
    }
}

void what_another_layout_reads_otherwise_is_refused(void **) {
    NumberFiles files;
    for (int64_t file = 0; file < 4; ++file) files.add(100 * file, 5);
    const Make batches = [&] { return make_batch(numbers_in(files.names()), 4, false); };
    is_refused(batches, by(MDIST_SHARD_FILE), {2, 1}, {1, 1}, "2 for each of 2 workers");
    is_refused(batches, by(MDIST_SHARD_FILE), {2, 1}, {4, 1}, "1 for each of 4 workers");
    is_refused(batches, by(MDIST_SHARD_FILE), {3, 1}, {3, 2}, "for 3 workers of 2 replicas");
    is_refused(batches, by(MDIST_SHARD_OFF), {2, 1}, {4, 1}, "1 for each of 4 workers");
    const Spans first_has_two({2, 1}), last_has_two({1, 2});
    goes_on(batches, by(MDIST_SHARD_FILE), first_has_two, 1, first_has_two);
    is_refused(batches, by(MDIST_SHARD_FILE), first_has_two, last_has_two, "for 2 workers of 1+2 replicas");

    // The policy, and weights to the last bit.
    const Dealing three = weighted(MDIST_SHARD_FILE, {3, 1}), almost = weighted(MDIST_SHARD_FILE, {3, 1 + 1e-15});
    goes_on(batches, three, {2, 1}, 2, {2, 1});
    is_refused(batches, three, {2, 1}, almost, {2, 1}, "1.000000000000001");
    goes_on(batches, weighted(MDIST_SHARD_DATA, {3, 1}), {2, 1}, 2, {1, 2});

    // Batches that are short in the middle of all rows.
    const Make epochs = [&] { return make_repeat(make_batch(numbers_in(files.names()), 6, false), 2); };
    is_refused(epochs, by(MDIST_SHARD_AUTO), {1, 2}, {1, 1}, "rows, not batches");
    goes_on(epochs, by(MDIST_SHARD_AUTO), {1, 2}, 4, {1, 3});

    Dealing dealing = by(MDIST_SHARD_DATA);
    dealing.uneven = MDIST_UNEVEN_DROP;
    const Make some = [] { return mixed_batches(20, 6); };
    is_refused(some, dealing, {1, 2}, {1, 3}, "batches of at least 3 rows");
    goes_on(some, dealing, {1, 4}, 2, {2, 2});

    Dealing whole = by(MDIST_SHARD_OFF);
    whole.split = false;
    is_refused(some, whole, {1, 2}, {1, 3}, "for 1 workers of 3 replicas");
    is_refused(batches, by(MDIST_SHARD_FILE), {2, 1}, by(MDIST_SHARD_MARKED), {2, 1}, "policy MARKED");
    goes_on(some, whole, {1, 2}, 1, {1, 2});
}

} // namespace

SUBJECT(data_positions) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(batches_that_all_read_go_on_in_any_layout),
        cmocka_unit_test(so_do_files_of_one_worker_and_whole_batches),
        cmocka_unit_test(and_shares_of_files_that_are_as_large_on_each_worker),
        cmocka_unit_test(what_another_layout_reads_otherwise_is_refused),
    };
    return cmocka_run_group_tests_name("data_positions", tests, nullptr, nullptr);
}
