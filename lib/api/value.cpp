// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/value.h"

#include "api/check.h"
#include "api/guard.h"
#include "api/values.h"
#include "device/transfer/transfer.h"
#include "strategy/job/context.h"
#include "strategy/strategy.h"
#include "strategy/values/cross.h"
#include "strategy/values/regroup.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/text.h"

#include <utility>

using namespace mdist;

namespace {

/// Calls the caller's function for one replica, and returns what it gives.
Part part_from(mdist_value_fn function, uint32_t replica_id, uint32_t replica_count, void *user_data) {
    const auto who = [&] { return text("the value function of replica ", replica_id); };
    ValueHandles made({nullptr});
    call_back_or_fail(who, [&] { return function(replica_id, replica_count, made.get(), user_data); });
    if (made.get()[0] == nullptr) throw Failure(MDIST_ERR_CALLBACK, text(who(), " returned 0 but made no value"));
    return part_made(*pin(made.get()[0]), who());
}

/// Copies a tensor where it lies. In a step, the copy of a tensor on the replica's GPU follows the stream's earlier
/// work.
Tensor copy_of(const mdist_tensor_t &tensor) {
    const Context *const context = Context::innermost();
    const Party *const replica = context == nullptr ? nullptr : context->party();
    if (replica == nullptr || tensor.data == nullptr) return copied(tensor, "tensor");
    return copied_in_turn(replica->device(), tensor, "tensor");
}

/// Copies the caller's tensor to a device, or returns zeros there.
Tensor copy_on(Device &device, const mdist_tensor_t &tensor) {
    if (tensor.data != nullptr) return copied_to(device, view_of(tensor, "tensor", {}, device.place().index));
    Tensor zeros = Tensor::copy_of(device, tensor, "tensor");
    device.finish();
    return zeros;
}

} // namespace

mdist_status_t mdist_value_create(const mdist_tensor_t *tensor, mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_value_create", error, [&] {
        need(tensor, "tensor");
        need(out, "out");
        *out = publish<mdist_value_t>(Value::plain(copy_of(*tensor)));
    });
}

mdist_status_t mdist_value_wrap(const mdist_tensor_t *tensor, void *user_data, mdist_free_fn free_user_data,
                                mdist_value_t **out, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return guard("mdist_value_wrap", error, [&] {
        need(tensor, "tensor");
        need(out, "out");
        const Tensor view = view_of(*tensor, "tensor"); // checks the tensor before the data is shared
        *out = publish<mdist_value_t>(
            Value::plain(Tensor::view(view.data(), view.dtype(), view.shape(), kept.share(), view.place())));
    });
}

mdist_status_t mdist_value_per_replica(mdist_strategy_t *strategy, const mdist_tensor_t *tensors, size_t count,
                                       mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_value_per_replica", error, [&] {
        const auto pinned = pin(strategy);
        need_array(tensors, count, "tensors");
        need(out, "out");
        const uint32_t replicas = pinned->reach.view().replicas;
        if (count != replicas)
            throw invalid(text("count is ", count, "; this strategy has ", replicas, " local replicas"));
        std::vector<Tensor> copies;
        for (uint32_t local = 0; local < count; ++local)
            copies.push_back(copy_on(pinned->reach.place(local), tensors[local]));
        *out = publish<mdist_value_t>(Value::per_replica(std::move(copies)));
    });
}

mdist_status_t mdist_value_mirrored(mdist_strategy_t *strategy, const mdist_value_t *value, mdist_value_t **out,
                                    mdist_error_t **error) {
    return guard("mdist_value_mirrored", error, [&] {
        const auto pinned = pin(strategy);
        const auto source = pin(value);
        need(out, "out");
        *out = publish<mdist_value_t>(mirror_value(*pinned, source.shared()));
    });
}

mdist_value_kind_t mdist_value_kind(const mdist_value_t *value) {
    const auto pinned = try_pin(value);
    return pinned ? pinned->kind() : static_cast<mdist_value_kind_t>(0);
}

size_t mdist_value_count(const mdist_value_t *value) {
    const auto pinned = try_pin(value);
    return pinned ? pinned->tensors().size() : 0;
}

mdist_status_t mdist_value_tensor(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                  mdist_error_t **error) {
    return guard("mdist_value_tensor", error, [&] {
        const auto pinned = pin(value);
        need(out, "out");
        *out = pinned->tensor_at(index).describe();
    });
}

mdist_status_t mdist_value_structure(const char *const *paths, mdist_value_t *const *leaves, size_t count,
                                     mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_value_structure", error, [&] {
        need_array(paths, count, "paths");
        need(out, "out");
        const std::vector<ValuePointer> values = values_of(leaves, count, "leaves");
        std::vector<Leaf> named;
        for (size_t i = 0; i < count; ++i) {
            if (paths[i] == nullptr) throw invalid(text("path ", i, " of ", count, " is NULL"));
            need_text(paths[i], "path");
            named.push_back({paths[i], values[i]});
        }
        *out = publish<mdist_value_t>(structure_of(std::move(named)));
    });
}

size_t mdist_value_leaf_count(const mdist_value_t *value) {
    const auto pinned = try_pin(value);
    return pinned ? leaf_count(*pinned) : 0;
}

const char *mdist_value_leaf_path(const mdist_value_t *value, size_t index) {
    const auto pinned = try_pin(value);
    return pinned ? leaf_path(*pinned, index).c_str() : "";
}

mdist_status_t mdist_value_at(const mdist_value_t *value, const char *path, mdist_value_t **out,
                              mdist_error_t **error) {
    return guard("mdist_value_at", error, [&] {
        const auto pinned = pin(value);
        need_text(path, "path");
        need(out, "out");
        *out = publish<mdist_value_t>(part_of(pinned.shared(), path));
    });
}

mdist_status_t mdist_values_from_function(mdist_strategy_t *strategy, mdist_value_fn function, void *user_data,
                                          mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_values_from_function", error, [&] {
        const auto pinned = pin(strategy);
        if (function == nullptr) throw invalid("function is NULL");
        need(out, "out");
        require_cross_replica(
            *pinned, "mdist_values_from_function",
            "Make values before mdist_run and pass them as its arguments, or call mdist_merge_call first");
        const View view = pinned->reach.view();
        std::vector<Part> parts;
        for (uint32_t local = 0; local < view.replicas; ++local)
            parts.push_back(part_from(function, view.first + local, pinned->replicas.count(), user_data));
        ValuePointer value = regroup("the value", std::move(parts), pinned->replicas.first_id());
        *out = publish<mdist_value_t>(value ? std::move(value) : structure_of({}));
    });
}

void mdist_value_destroy(mdist_value_t *value) {
    give_up(value);
}
