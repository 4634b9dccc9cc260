// SPDX-License-Identifier: Apache-2.0
// What the tests of datasets share: sources of numbers, and elements as plain vectors. Main thread.
#pragma once

#include "data/iterator.h"
#include "data/sources.h"
#include "data/stream_threads.h"
#include "data/transforms.h"
#include "random.h"
#include "util/failure.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <setjmp.h>

#include <algorithm>
#include <atomic>
#include <fstream> // before the macro `fail` of cmocka
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}

using namespace mdist;

struct Item {
    std::vector<uint64_t> shape;
    std::vector<int64_t> values;
    bool operator==(const Item &) const = default;
};

/// Rows of `width` numbers counting from 0; width 0 stands for scalars.
inline std::shared_ptr<Dataset> numbers(uint64_t rows, uint64_t width = 0) {
    auto kept = std::make_shared<std::vector<int64_t>>(rows * std::max<uint64_t>(width, 1) + 1);
    std::iota(kept->begin(), kept->end(), 0);
    mdist_tensor_t array = {};
    array.data = kept->data();
    array.dtype = MDIST_INT64;
    array.rank = width == 0 ? 1 : 2;
    array.shape[0] = rows;
    array.shape[1] = width;
    return make_from_tensors(&array, 1, kept);
}

inline Item item(const Tensor &tensor) {
    const auto *begin = static_cast<const int64_t *>(tensor.data());
    const Shape &shape = tensor.shape();
    return {{shape.dims, shape.dims + shape.rank}, {begin, begin + tensor.elements()}};
}

/// Up to `limit` elements, first component.
inline std::vector<Item> items(Iterator &iterator, std::size_t limit = SIZE_MAX) {
    std::vector<Item> all;
    while (all.size() < limit && iterator.next([&](const Element &element) { all.push_back(item(element.tensor(0))); }))
        continue;
    return all;
}
inline std::vector<Item> items(const std::shared_ptr<const Dataset> &dataset, std::size_t limit = SIZE_MAX) {
    Iterator iterator(dataset);
    return items(iterator, limit);
}

/// All numbers of all elements.
inline std::vector<int64_t> flat(const std::vector<Item> &all) {
    std::vector<int64_t> values;
    for (const Item &one : all) values.insert(values.end(), one.values.begin(), one.values.end());
    return values;
}

/// The failure that `action` ends in; status MDIST_OK if none.
template <class Action>
Failure failure_of(const Action &action) {
    try {
        action();
    } catch (const Failure &failure) {
        return failure;
    }
    return Failure(MDIST_OK, "");
}

inline void assert_says(const Failure &failure, mdist_status_t status, const std::string &part) {
    if (failure.message().find(part) == std::string::npos)
        fail_msg("\"%s\" does not say \"%s\"", failure.message().c_str(), part.c_str());
    assert_int_equal(failure.status(), status);
}

inline bool take_nothing(Iterator &iterator) {
    return iterator.next([](const Element &) {});
}

inline mdist_tensor_t output(int32_t dtype, std::vector<uint64_t> shape) {
    mdist_tensor_t out = {};
    out.dtype = dtype;
    out.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), out.shape);
    return out;
}
