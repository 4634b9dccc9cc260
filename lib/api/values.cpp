// SPDX-License-Identifier: Apache-2.0
#include "api/values.h"

namespace mdist {

std::vector<ValuePointer> values_of(mdist_value_t *const *handles, std::size_t count, const char *name) {
    need_array(handles, count, name);
    std::vector<ValuePointer> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) values.push_back(pin(handles[i]).shared());
    return values;
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

} // namespace mdist
