// SPDX-License-Identifier: Apache-2.0
// Functions that datasets keep: filters and generators. Each has a share of the object that keeps its exceptions.
#pragma once

#include <memory>

#include <mdist/error.hpp>
#include <mdist/tensor.hpp>

namespace mdist::detail {

template <typename Filter>
struct FilterCall {
    Filter filter;
    std::shared_ptr<Thrown> thrown;

    static int32_t on_element(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data) {
        FilterCall &self = *static_cast<FilterCall *>(user_data);
        return self.thrown->guard([&] { *keep = self.filter(ConstTensors(inputs, input_count)) ? 1 : 0; });
    }
};

// `make` is called for each iteration and epoch. What it returns makes the elements, and is the state of C.
template <typename Make>
struct GeneratorCall {
    using Next = std::invoke_result_t<Make &>;
    Make make;
    std::shared_ptr<Thrown> thrown;

    static int32_t on_element(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **state,
                              void *user_data) {
        GeneratorCall &self = *static_cast<GeneratorCall *>(user_data);
        bool more = true;
        const int32_t code = self.thrown->guard([&] {
            if (index == 0) *state = new Next(self.make());
            more = (*static_cast<Next *>(*state))(Tensors(outputs, output_count));
        });
        return code != 0 ? code : more ? MDIST_OK : MDIST_END;
    }
};

} // namespace mdist::detail
