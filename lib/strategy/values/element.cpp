// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/element.h"

#include "strategy/values/structure.h"

namespace mdist {

std::vector<ValuePointer> values_of_element(const Dataset &dataset, const Element &element) {
    std::vector<ValuePointer> values;
    const std::size_t replicas = dataset.replica_count();
    for (std::size_t component = 0; component < dataset.component_count(); ++component) {
        if (replicas == 0) {
            values.push_back(Value::plain(element.tensor(component)));
            continue;
        }
        std::vector<Tensor> parts;
        for (std::size_t i = 0; i < replicas; ++i) parts.push_back(element.tensor(component * replicas + i));
        values.push_back(Value::per_replica(std::move(parts)));
    }
    return values;
}

ValuePointer value_of_element(const Dataset &dataset, const Element &element) {
    std::vector<ValuePointer> values = values_of_element(dataset, element);
    std::vector<Leaf> leaves;
    for (std::size_t i = 0; i < values.size(); ++i) leaves.push_back({dataset.paths()[i], std::move(values[i])});
    return structure_of(std::move(leaves));
}

} // namespace mdist
