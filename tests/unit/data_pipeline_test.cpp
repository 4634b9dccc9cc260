// SPDX-License-Identifier: Apache-2.0
// Sources and transforms against a model that works on vectors, alone and in random combinations.
#include "data_support.h"

#include "data/random.h"
#include "subject.h"

namespace {

using Model = std::function<std::vector<Item>()>; // one epoch; throws std::string where shapes do not fit

struct Pipeline {
    std::shared_ptr<Dataset> dataset;
    Model model;
    std::string text;
};

int32_t times_three(const mdist_tensor_t *inputs, size_t, const mdist_tensor_t *outputs, size_t, void *) {
    const uint64_t elements =
        mdist::Tensor::view(nullptr, outputs[0].dtype, checked_shape(outputs[0], ""), {}).elements();
    for (uint64_t i = 0; i < elements; ++i)
        static_cast<int64_t *>(outputs[0].data)[i] = 3 * static_cast<int64_t *>(inputs[0].data)[i] + 1;
    return 0;
}

std::vector<Item> batched(const std::vector<Item> &in, uint64_t size, bool drop) {
    std::vector<Item> out;
    for (std::size_t begin = 0; begin < in.size(); begin += size) {
        const std::size_t end = std::min<std::size_t>(begin + size, in.size());
        if (end - begin < size && drop) break;
        Item joined{{end - begin}, {}};
        joined.shape.insert(joined.shape.end(), in[begin].shape.begin(), in[begin].shape.end());
        for (std::size_t i = begin; i < end; ++i) {
            if (in[i].shape != in[begin].shape) throw std::string("mismatch");
            joined.values.insert(joined.values.end(), in[i].values.begin(), in[i].values.end());
        }
        out.push_back(joined);
    }
    return out;
}

std::vector<Item> shuffled(const std::vector<Item> &in, uint64_t size, Random random) {
    std::vector<Item> out;
    std::vector<Item> buffer;
    for (std::size_t i = 0; i < in.size() || !buffer.empty();) {
        while (i < in.size() && buffer.size() < size) buffer.push_back(in[i++]);
        const std::size_t pick = random.below(buffer.size());
        out.push_back(buffer[pick]);
        buffer[pick] = buffer.back();
        buffer.pop_back();
    }
    return out;
}

void add_shuffle(Pipeline &p, uint64_t size, uint64_t seed, bool reshuffle) {
    auto epoch = std::make_shared<uint64_t>(0);
    p.dataset = make_shuffle(p.dataset, size, seed, reshuffle);
    p.model = [=, from = p.model] { return shuffled(from(), size, Random{seed, 0, reshuffle ? (*epoch)++ : 0}); };
    p.text += " shuffle " + std::to_string(size) + (reshuffle ? " again" : "");
}

void add_step(Pipeline &p, std::mt19937_64 &random) {
    const uint64_t a = random() % 5;
    const uint64_t b = random() % 3;
    switch (random() % 6) {
        case 0:
            p.text += " shard " + std::to_string(a + 1);
            p.dataset = make_shard(p.dataset, a + 1, b % (a + 1));
            p.model = [=, from = p.model] {
                std::vector<Item> out;
                const auto in = from();
                for (std::size_t i = 0; i < in.size(); ++i)
                    if (i % (a + 1) == b % (a + 1)) out.push_back(in[i]);
                return out;
            };
            break;
        case 1:
            add_shuffle(p, 1 + random() % 12, random(), random() % 2);
            break;
        case 2:
            p.text += " repeat " + std::to_string(b);
            p.dataset = make_repeat(p.dataset, b);
            p.model = [=, from = p.model] {
                std::vector<Item> out;
                for (uint64_t i = 0; i < b; ++i) {
                    const auto in = from();
                    if (in.empty()) break;
                    out.insert(out.end(), in.begin(), in.end());
                }
                return out;
            };
            break;
        case 3: {
            const bool drop = random() % 2;
            if (p.dataset->spec()[0].shape.rank >= 4) break;
            p.text += " batch " + std::to_string(a + 1) + (drop ? " drop" : "");
            p.dataset = make_batch(p.dataset, a + 1, drop);
            p.model = [=, from = p.model] { return batched(from(), a + 1, drop); };
            break;
        }
        case 4:
            p.text += " prefetch " + std::to_string(a + 1);
            p.dataset = make_prefetch(p.dataset, a + 1);
            break;
        default: {
            mdist_tensor_t out = {};
            const Shape &shape = p.dataset->spec()[0].shape;
            out.dtype = MDIST_INT64;
            out.rank = shape.rank;
            std::copy(shape.dims, shape.dims + shape.rank, out.shape);
            if (std::count(out.shape + 1, out.shape + 8, MDIST_UNKNOWN_LENGTH) != 0)
                break; // more than the function can know
            p.text += " map";
            p.dataset = make_map(p.dataset, times_three, nullptr, nullptr, &out, 1);
            p.model = [from = p.model] {
                auto all = from();
                for (Item &one : all)
                    for (int64_t &value : one.values) value = 3 * value + 1;
                return all;
            };
        }
    }
}

void random_pipelines_give_what_the_model_gives(void **) {
    int mismatches = 0;
    const Seeds tried = seeds(2000, 2000);
    for (const uint64_t seed : tried) {
        std::mt19937_64 random(seed);
        const uint64_t rows = random() % 21;
        const uint64_t width = random() % 3;
        Pipeline p{numbers(rows, width), nullptr, "numbers " + std::to_string(rows)};
        p.model = [=] {
            std::vector<Item> all;
            for (uint64_t row = 0; row < rows; ++row) {
                Item one;
                if (width != 0) one.shape.push_back(width);
                for (uint64_t i = 0; i < std::max<uint64_t>(width, 1); ++i)
                    one.values.push_back(static_cast<int64_t>(row * std::max<uint64_t>(width, 1) + i));
                all.push_back(one);
            }
            return all;
        };
        for (uint64_t steps = random() % 8; steps != 0; --steps) add_step(p, random);
        std::vector<Item> expected;
        bool misfit = false;
        try {
            expected = p.model();
        } catch (const std::string &) {
            misfit = true;
        }
        std::vector<Item> got;
        const Failure failure = failure_of([&] { got = items(p.dataset); });
        const bool right = misfit ? failure.status() == MDIST_ERR_MISMATCH
                                  : failure.status() == MDIST_OK && got == expected &&
                                        p.dataset->size().value_or(got.size()) == got.size();
        mismatches += misfit;
        if (!right) fail_msg("seed %d: %s: %s", static_cast<int>(seed), p.text.c_str(), failure.message().c_str());
    }
    if (tried.count() == 2000) assert_in_range(mismatches, 1, 1000);
}

void a_repetition_of_nothing_ends_even_if_forever(void **) {
    assert_int_equal(items(make_repeat(numbers(0), MDIST_FOREVER)).size(), 0);
    assert_int_equal(items(make_repeat(make_batch(numbers(3), 4, true), MDIST_FOREVER)).size(), 0);
    assert_int_equal(items(make_repeat(numbers(3), MDIST_FOREVER), 1000).size(), 1000);
    assert_int_equal(items(make_repeat(numbers(3), 0)).size(), 0);
}

void bad_arguments_are_named(void **) {
    const auto ten = numbers(10);
    assert_says(failure_of([&] { make_shard(ten, 3, 7); }), MDIST_ERR_INVALID_ARGUMENT, "index is 7; with 3 shards");
    assert_says(failure_of([&] { make_shard(ten, 0, 0); }), MDIST_ERR_INVALID_ARGUMENT, "0 shards");
    assert_says(failure_of([&] { make_batch(ten, 0, false); }), MDIST_ERR_INVALID_ARGUMENT, "batch_size is 0");
    assert_says(failure_of([&] { make_shuffle(ten, 0, 1, false); }), MDIST_ERR_INVALID_ARGUMENT, "buffer_size is 0");
    assert_says(failure_of([&] { make_prefetch(ten, 0); }), MDIST_ERR_INVALID_ARGUMENT, "0 elements");
    mdist_tensor_t arrays[2] = {output(MDIST_INT32, {3, 2}), output(MDIST_INT32, {4})};
    int32_t room[6] = {};
    arrays[0].data = arrays[1].data = room;
    assert_says(failure_of([&] { make_from_tensors(arrays, 2, nullptr); }), MDIST_ERR_INVALID_ARGUMENT, "array 1");
    assert_says(failure_of([&] { make_from_tensors(arrays, 0, nullptr); }), MDIST_ERR_INVALID_ARGUMENT, "0 arrays");
    assert_says(failure_of([&] { make_from_tensors(nullptr, 1, nullptr); }), MDIST_ERR_INVALID_ARGUMENT, "NULL");
    arrays[1].rank = 0;
    assert_says(failure_of([&] { make_from_tensors(arrays, 2, nullptr); }), MDIST_ERR_INVALID_ARGUMENT, "scalar");
}

void values_outlive_everything_and_the_arrays_go_with_the_last(void **) {
    std::shared_ptr<int64_t[]> room(new int64_t[4]());
    room[2] = 42;
    mdist_tensor_t array = output(MDIST_INT64, {4});
    array.data = room.get();
    Tensor kept;
    const std::weak_ptr<int64_t[]> watch = room;
    {
        auto dataset = make_from_tensors(&array, 1, std::move(room));
        Iterator iterator(dataset);
        dataset.reset();
        for (int i = 0; i < 3; ++i) iterator.next([&](const Element &element) { kept = element.tensor(0); });
    }
    assert_int_equal(*static_cast<int64_t *>(kept.data()), 42);
    assert_false(watch.expired());
    kept = Tensor();
    assert_true(watch.expired());
}

void batches_are_aligned_copies_in_both_components(void **) {
    std::vector<int64_t> x(70);
    std::vector<uint8_t> y(7);
    std::iota(x.begin(), x.end(), 0);
    std::iota(y.begin(), y.end(), static_cast<uint8_t>(100));
    mdist_tensor_t arrays[2] = {output(MDIST_INT64, {7, 10}), output(MDIST_UINT8, {7})};
    arrays[0].data = x.data();
    arrays[1].data = y.data();
    Iterator iterator(make_batch(make_from_tensors(arrays, 2, nullptr), 3, false));
    uint64_t row = 0;
    bool right = true;
    while (iterator.next([&](const Element &element) {
        const Tensor images = element.tensor(0);
        const Tensor labels = element.tensor(1);
        const uint64_t rows = std::min<uint64_t>(3, 7 - row);
        right &= reinterpret_cast<uintptr_t>(images.data()) % 64 == 0 && images.shape().dims[0] == rows;
        right &= std::equal(x.data() + row * 10, x.data() + (row + rows) * 10, static_cast<int64_t *>(images.data()));
        right &= labels.elements() == rows && static_cast<uint8_t *>(labels.data())[0] == 100 + row;
        row += rows;
    }))
        continue;
    assert_true(right);
    assert_int_equal(row, 7);
}

void a_call_within_a_call_is_refused_and_the_end_stays(void **) {
    Iterator iterator(numbers(2));
    Failure inner(MDIST_OK, "");
    iterator.next([&](const Element &) { inner = failure_of([&] { take_nothing(iterator); }); });
    assert_says(inner, MDIST_ERR_FAILED_PRECONDITION, "one call at a time");
    assert_true(take_nothing(iterator));
    for (int i = 0; i < 3; ++i) assert_false(take_nothing(iterator));
}

void ten_thousand_pipelines_come_and_go(void **) {
    for (int i = 0; i < 10000; ++i) {
        auto dataset = make_batch(make_shuffle(numbers(6), 4, 1, true), 4, false);
        if (i % 10 == 0) dataset = make_prefetch(dataset, 1);
        assert_int_equal(items(dataset, static_cast<std::size_t>(i) % 4).size(), std::min(i % 4, 2));
    }
}

/// The dataset's elements as a stream gives them that first skips `skipped` of them, after it has given `taken`.
std::vector<int64_t> replayed(const Dataset &dataset, std::size_t taken, uint64_t skipped) {
    const std::unique_ptr<Stream> stream = dataset.open({});
    std::vector<int64_t> all;
    Element element;
    const auto next = [&] { return stream->next(element) && (all.push_back(item(element.tensor(0)).values[0]), true); };
    while (all.size() < taken && next()) continue;
    Element scratch;
    const uint64_t done = stream->replay(skipped, scratch);
    all.resize(all.size() + done, -1);
    while (done == skipped && next()) continue;
    return all;
}

void what_is_replayed_is_what_next_would_have_given(void **) {
    constexpr int64_t kElements = 17;
    const auto source = make_range(0, kElements, 1);
    const auto check = [](const Dataset &dataset, const std::vector<int64_t> &expected) {
        assert_int_equal(dataset.size().value(), expected.size());
        for (std::size_t taken = 0; taken <= expected.size(); ++taken)
            for (uint64_t skipped = 0; skipped <= expected.size() + 2 - taken; ++skipped) {
                std::vector<int64_t> all = expected;
                for (std::size_t i = taken; i < std::min(taken + skipped, all.size()); ++i) all[i] = -1;
                assert_true(replayed(dataset, taken, skipped) == all);
            }
    };
    for (uint64_t of = 1; of <= 5; ++of)
        for (uint64_t set = 1; set < uint64_t{1} << of; ++set) {
            std::vector<uint64_t> own;
            std::vector<int64_t> expected;
            for (uint64_t i = 0; i < of; ++i)
                if ((set >> i & 1) != 0) own.push_back(i);
            for (int64_t i = 0; i < kElements; ++i)
                if ((set >> (static_cast<uint64_t>(i) % of) & 1) != 0) expected.push_back(i);
            check(*make_selection(source, of, own), expected);
            if (own.size() == 1) check(*make_shard(source, of, own[0]), expected);
        }
    for (const int64_t some : {0, 1, 5, 17, 20}) {
        std::vector<int64_t> first, rest;
        for (int64_t i = 0; i < kElements; ++i) (i < some ? first : rest).push_back(i);
        check(*make_take(source, static_cast<uint64_t>(some)), first);
        check(*make_skip(source, static_cast<uint64_t>(some)), rest);
    }
}

} // namespace

SUBJECT(data_pipeline) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_pipelines_give_what_the_model_gives),
        cmocka_unit_test(a_repetition_of_nothing_ends_even_if_forever),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(values_outlive_everything_and_the_arrays_go_with_the_last),
        cmocka_unit_test(batches_are_aligned_copies_in_both_components),
        cmocka_unit_test(a_call_within_a_call_is_refused_and_the_end_stays),
        cmocka_unit_test(ten_thousand_pipelines_come_and_go),
        cmocka_unit_test(what_is_replayed_is_what_next_would_have_given),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
