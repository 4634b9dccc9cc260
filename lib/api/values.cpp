// SPDX-License-Identifier: Apache-2.0
#include "api/values.h"

#include "strategy/strategy.h"

namespace mdist {

std::vector<ValuePointer> values_of(mdist_value_t *const *handles, std::size_t count, const char *name) {
    need_array(handles, count, name);
    std::vector<ValuePointer> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) values.push_back(pin(handles[i]).shared());
    return values;
}

std::vector<ValuePointer> values_or_none(mdist_value_t *const *handles, std::size_t count, const char *name) {
    need_array(handles, count, name);
    std::vector<ValuePointer> values(count);
    for (std::size_t i = 0; i < count; ++i)
        if (handles[i] != nullptr) values[i] = pin(handles[i]).shared();
    return values;
}

std::vector<Tensor> copies_of(const Replica &replica, const mdist_tensor_t *arguments, std::size_t count) {
    need_array(arguments, count, "arguments");
    std::vector<Tensor> copies;
    for (std::size_t i = 0; i < count; ++i) {
        checked_filled(arguments[i], "argument");
        copies.push_back(Tensor::copy_of(replica.strategy().device(replica.local_index()), arguments[i], "argument"));
    }
    return copies;
}

std::vector<mdist_value_t *> publish_values(const std::vector<ValuePointer> &values) {
    std::vector<mdist_value_t *> handles(values.size(), nullptr);
    try {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i]) handles[i] = publish<mdist_value_t>(values[i]);
    } catch (...) {
        for (mdist_value_t *handle : handles) retire(handle);
        throw;
    }
    return handles;
}

void hand_out(const std::vector<ValuePointer> &values, mdist_value_t **out) {
    const std::vector<mdist_value_t *> handles = publish_values(values);
    for (std::size_t i = 0; i < handles.size(); ++i) out[i] = handles[i];
}

} // namespace mdist
