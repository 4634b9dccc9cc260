// SPDX-License-Identifier: Apache-2.0
// Rows that travel as numbers are those that travel as elements: random pipelines over one array, with and without its
// block in sight.
#include "data_support.h"
#include "subject.h"

namespace {

/// The same elements, from a stream that does not tell of their block.
class Hidden final : public Transform {
  public:
    explicit Hidden(Source source) : Transform(source, source->spec()) {}
    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::optional<uint64_t> size() const override { return source().size(); }
};

class HiddenStream final : public Stream {
  public:
    HiddenStream(std::unique_ptr<Stream> upstream, const Iteration &iteration)
        : Stream(iteration), upstream_(std::move(upstream)) {}

  private:
    bool produce(Element &out) override { return upstream_->next(out); }
    void rewind() override { upstream_->restart(); }

    std::unique_ptr<Stream> upstream_;
};

std::unique_ptr<Stream> Hidden::open(const Iteration &iteration) const {
    return std::make_unique<HiddenStream>(source().open(iteration), iteration);
}

using Step = std::function<std::shared_ptr<Dataset>(Source)>;

/// Sizes on either side of the chunks that streams take at a time.
Step random_step(std::mt19937 &random, std::string &said) {
    constexpr uint64_t kSizes[] = {1, 2, 3, 7, 100, 255, 256, 257, 1000, 5000};
    const uint64_t size = kSizes[random() % std::size(kSizes)], other = kSizes[random() % std::size(kSizes)];
    const bool again = random() % 2 == 0;
    switch (random() % 5) {
        case 0:
            said += " shard " + std::to_string(size);
            return [=](Source from) { return make_shard(std::move(from), size, other % size); };
        case 1:
            said += " shuffle " + std::to_string(size);
            return [=](Source from) { return make_shuffle(std::move(from), size, other, again); };
        case 2:
            said += " take " + std::to_string(size);
            return [=](Source from) { return make_take(std::move(from), size); };
        case 3:
            said += " skip " + std::to_string(size);
            return [=](Source from) { return make_skip(std::move(from), size); };
        default:
            said += " repeat " + std::to_string(size % 4);
            return [=](Source from) { return make_repeat(std::move(from), size % 4); };
    }
}

void numbers_of_rows_give_the_elements_that_rows_give(void **) {
    std::mt19937 random(test_seed(20261122));
    for (int round = 0; round < 400; ++round) {
        const uint64_t rows = random() % 4 == 0 ? random() % 3 : random() % 3000, width = random() % 4;
        std::string said = std::to_string(rows) + " rows of " + std::to_string(width);
        const Source source = numbers(rows, width);
        std::shared_ptr<const Dataset> seen = source, hidden = std::make_shared<Hidden>(source);
        for (uint64_t steps = random() % 5; steps != 0; --steps) {
            const Step step = random_step(random, said);
            seen = step(seen);
            hidden = step(hidden);
        }
        const uint64_t batch = 1 + random() % (random() % 2 == 0 ? 10 : 5000), epochs = 1 + random() % 2;
        const bool drop = random() % 2 == 0, batched = random() % 4 != 0;
        said += " batch " + std::to_string(batched ? batch : 0);
        const auto finished = [&](Source from) {
            if (batched) from = make_batch(from, batch, drop);
            return items(make_repeat(from, epochs));
        };
        if (finished(seen) != finished(hidden)) fail_msg("%s", said.c_str());
    }
}

void streams_that_were_asked_for_elements_go_on_with_numbers(void **) {
    const auto dataset = make_shuffle(make_shard(numbers(2000), 3, 1), 300, 5, false);
    const std::vector<int64_t> all = flat(items(dataset));
    const std::unique_ptr<Stream> stream = dataset->open(Iteration{});
    assert_true(stream->block() != nullptr);
    std::vector<int64_t> got;
    for (Element element;;) {
        uint64_t rows[5];
        const std::size_t count = stream->next_rows(rows, 5);
        for (std::size_t i = 0; i < count; ++i) got.push_back(static_cast<int64_t>(rows[i]));
        if (!stream->next(element)) break;
        got.push_back(item(element.tensor(0)).values[0]);
    }
    assert_true(got == all);
}

} // namespace

SUBJECT(data_rows) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_rows_give_the_elements_that_rows_give),
        cmocka_unit_test(streams_that_were_asked_for_elements_go_on_with_numbers),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
