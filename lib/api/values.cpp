// SPDX-License-Identifier: Apache-2.0
#include "api/values.h"

#include "device/transfer/transfer.h"
#include "strategy/strategy.h"
#include "strategy/values/structure.h"
#include "util/text.h"

namespace mdist {

std::vector<ValuePointer> values_of(mdist_value_t *const *handles, std::size_t count, const char *name) {
    need_array(handles, count, name);
    std::vector<ValuePointer> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) values.push_back(pin(handles[i]).shared());
    return values;
}

PinnedValues::PinnedValues(mdist_value_t *const *handles, std::size_t count, const char *name) {
    need_array(handles, count, name);
    pins_.reserve(count);
    values_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) values_.push_back(pins_.emplace_back(pin(handles[i])).get());
}

std::vector<ValuePointer> values_or_none(mdist_value_t *const *handles, std::size_t count, const char *name) {
    need_array(handles, count, name);
    std::vector<ValuePointer> values(count);
    for (std::size_t i = 0; i < count; ++i)
        if (handles[i] != nullptr) values[i] = pin(handles[i]).shared();
    return values;
}

Part part_made(const Value &made, const std::string &who) {
    Part part;
    visit_leaves(made, [&](const Value &leaf, std::size_t index) {
        if (leaf.kind() != MDIST_VALUE_PLAIN || leaf.has_rows())
            throw Failure(MDIST_ERR_CALLBACK,
                          text(who, " gave ", leaf.has_rows() ? "rows" : text("a ", kind_text(leaf.kind()), " value"),
                               "; it must give plain values of whole tensors, for one replica"));
        part.push_back({leaf_path(made, index), leaf.tensors()[0]});
    });
    return part;
}

Tensor copy_for(const Replica &replica, const mdist_tensor_t *tensor) {
    need(tensor, "tensor");
    return copied_in_turn(replica.device(), *tensor, "tensor");
}

std::vector<Part> merge_arguments(Replica &replica, const mdist_tensor_t *arguments, std::size_t count) {
    std::vector<Part> parts = replica.take_merge_parts(count);
    Device &device = replica.device();
    for (std::size_t i = 0; i < count; ++i) {
        if (!parts[i].empty()) continue;
        need(arguments, "arguments");
        parts[i].push_back({std::string(), copied_in_turn(device, arguments[i], "argument")});
    }
    return parts;
}

void describe_merged(Replica &replica, mdist_tensor_t *results, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const ValuePointer &value = replica.merged[i];
        const bool has_one = value && !value->is_structure();
        results[i] = has_one ? replica.near(value->tensor_for(replica.local_index())).describe() : Tensor().describe();
    }
}

std::vector<mdist_value_t *> publish_values(std::vector<ValuePointer> values) {
    std::vector<mdist_value_t *> handles(values.size());
    publish_all(std::move(values), handles.data());
    return handles;
}

} // namespace mdist
