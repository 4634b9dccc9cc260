// SPDX-License-Identifier: Apache-2.0
// Fuzz target: saved states of iterators. Whatever the text, either it gives a state that is written back unchanged, or
// a Failure says what is wrong. Whatever the state, an iterator moves there or stays where it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "data/iterator.h"
#include "data/sources.h"
#include "data/transforms.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "iterator_fuzz: broken promise: %s\n", what);
    std::abort();
}

void read(std::string_view text) {
    try {
        const IteratorState state = parse_iterator_state(text);
        require(parse_iterator_state(encode_iterator_state(state)) == state, "what is written is read");
    } catch (const Failure &failure) {
        require(failure.status() == MDIST_ERR_DATA_LOSS && failure.reason() == "corrupt", "it is data loss");
        require(!failure.message().empty() && failure.message().size() < 2000, "there is a short sentence");
    }
}

/// Makes a dataset of 90 rows in batches. It has every kind of stream that can skip to a position.
std::shared_ptr<Dataset> make_dataset() {
    const auto numbers = make_shuffle(make_range(0, 30, 1), 7, 5, true);
    const auto twice = make_concatenate(make_shard(make_repeat(numbers, 4), 2, 1), make_skip(make_cache(numbers), 0));
    const auto rows = make_unbatch(make_batch(make_take(make_prefetch(twice, 2), 1000), 4, false));
    const auto others = make_shuffle(make_range(0, 1000, 3), 9, 6, true);
    return make_rebatch(make_batch(make_zip({rows, others}), 3, false), {2, 0, 5}, false);
}

uint64_t left(Iterator &iterator) {
    uint64_t count = 0;
    while (iterator.next([](const Element &) {})) ++count;
    return count;
}

/// Makes a state from the bytes. All that they do not set comes from `model`.
IteratorState state_from(std::string_view bytes, const IteratorState &model) {
    std::vector<uint64_t> numbers(bytes.size() / sizeof(uint64_t));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(uint64_t));
    IteratorState state = model;
    if (numbers.empty()) return state;
    state.taken = numbers[0] % 3 == 0 ? numbers[0] : numbers[0] % 64;
    numbers.erase(numbers.begin());
    if (numbers.size() > state.orders.size()) numbers.resize(state.orders.size());
    std::copy(numbers.begin(), numbers.end(), state.orders.begin());
    if (bytes.size() % 5 == 0) state.orders.resize(bytes.size() % 7);
    return state;
}

void restore(std::string_view bytes) {
    const auto iterator = std::make_shared<Iterator>(make_dataset());
    const IteratorState before = iterator->state(), state = state_from(bytes, before);
    static const uint64_t all = left(*std::make_shared<Iterator>(make_dataset()));
    try {
        Restoring(iterator, state).commit();
        require(iterator->state() == state, "it is where it was to be");
        require(left(*iterator) + state.taken == all, "what was taken and what is left are all");
    } catch (const Failure &failure) {
        require(failure.status() == MDIST_ERR_MISMATCH, "the status is MDIST_ERR_MISMATCH");
        require(iterator->state() == before && left(*iterator) == all, "it stays where it was");
    }
}

} // namespace

FUZZ_TARGET(iterator) {
    const std::string_view input(reinterpret_cast<const char *>(data), size);
    read(input);
    restore(input.substr(0, 4096));
    return 0;
}
