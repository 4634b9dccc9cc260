// SPDX-License-Identifier: Apache-2.0
#include "api/collective_call.h"
#include "api/values.h"
#include "comm/packs.h"
#include "device/transfer/transfer.h"
#include "strategy/job/call_functions.h"
#include "strategy/values/cross.h"
#include "util/text.h"

#include <mdist/collective.h>

#include <algorithm>

using namespace mdist;

namespace {

/// Runs a collective in replica context.
mdist_status_t collective(const Call &call, mdist_replica_t *replica, const mdist_call_options_t *options,
                          mdist_error_t **error) {
    const ArrayNames names = {.inputs = call.kind->traits().broadcasts ? "buffers" : "inputs"};
    return collective_guard(
        call.kind->name(), [&] { return call; }, names, replica, others_in(options), options, error,
        [&](Replica &self, const GroupSeat &place, const Call &own, uint64_t timeout) {
            place.await_turn(self, call.kind->name());
            perform_packs(place.seat.executors, place.seat.party, own, packing_of(self.job(), options), timeout);
            place.seat.operations.notice();
        });
}

/// Throws INVALID_ARGUMENT if the strategy has no such device.
Target target_of(const Strategy &strategy, const char *destination) {
    if (destination == nullptr || destination[0] == '\0') return Target::everywhere();
    return Target::on(strategy.reach.place(strategy.reach.device_index(destination)));
}

Asker asker_of(const Strategy &strategy, const calls::ValueFunction &function, const mdist_call_options_t *options) {
    Asker asker(strategy, function, timeout_of(options));
    asker.packing = packing_of(strategy, options);
    return asker;
}

constexpr const char *kInStep = "mdist_all_reduce, or mdist_merge_call first";

mdist_status_t reduce_to_plain(const char *function, mdist_strategy_t *strategy, mdist_reduce_op_t op,
                               const mdist_value_t *value, const int32_t *axes, size_t axis_count, mdist_value_t **out,
                               const mdist_call_options_t *options, mdist_error_t **error) {
    return shared_call_guard(function, strategy, kInStep, error, [&](Strategy &self, bool &others_wait) {
        const auto pinned = pin(value);
        others_wait = reduces_with_others(self, op, *pinned, axis_count != 0);
        need_array(axes, axis_count, "axes");
        if (axis_count > MDIST_MAX_RANK)
            throw invalid(text("axis_count is ", axis_count, "; a value has at most ", MDIST_MAX_RANK, " dimensions"));
        need(out, "out");
        const Asker asker = asker_of(self, calls::kReduce, options);
        self.require_sound();
        const std::vector<int32_t> over(axes, axes + axis_count);
        *out = publish<mdist_value_t>(over.empty() ? reduce_values(self, asker, op, {pinned.get()}, {Target::here()})[0]
                                                   : reduce_value_axes(self, asker, op, *pinned, over));
    });
}

} // namespace

mdist_status_t mdist_all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                const mdist_buffer_t *outputs, size_t buffer_count, const mdist_call_options_t *options,
                                mdist_error_t **error) {
    return collective(call_of(&calls::kAllReduce, op, inputs, outputs, buffer_count), replica, options, error);
}

mdist_status_t mdist_broadcast(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *buffers,
                               size_t buffer_count, const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(broadcast_of(root, buffers, buffer_count), replica, options, error);
}

mdist_status_t mdist_all_gather(mdist_replica_t *replica, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                size_t buffer_count, const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(call_of(&calls::kAllGather, 0, inputs, outputs, buffer_count), replica, options, error);
}

mdist_status_t mdist_reduce_scatter(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                    const mdist_buffer_t *outputs, size_t buffer_count,
                                    const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(call_of(&calls::kReduceScatter, op, inputs, outputs, buffer_count), replica, options, error);
}

mdist_status_t mdist_all_to_all(mdist_replica_t *replica, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                size_t buffer_count, const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(call_of(&calls::kAllToAll, 0, inputs, outputs, buffer_count), replica, options, error);
}

mdist_status_t mdist_all_to_all_parts(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                      const uint64_t *input_parts, const mdist_buffer_t *outputs,
                                      const uint64_t *output_parts, size_t buffer_count,
                                      const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(parts_call_of(inputs, input_parts, outputs, output_parts, buffer_count), replica, options, error);
}

mdist_status_t mdist_reduce_to_root(mdist_replica_t *replica, mdist_reduce_op_t op, uint32_t root,
                                    const mdist_buffer_t *inputs, const mdist_buffer_t *outputs, size_t buffer_count,
                                    const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(rooted_call_of(&calls::kReduceToRoot, op, root, inputs, outputs, buffer_count), replica, options,
                      error);
}

mdist_status_t mdist_gather_to_root(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *inputs,
                                    const mdist_buffer_t *outputs, size_t buffer_count,
                                    const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(rooted_call_of(&calls::kGatherToRoot, 0, root, inputs, outputs, buffer_count), replica, options,
                      error);
}

mdist_status_t mdist_scatter(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *inputs,
                             const mdist_buffer_t *outputs, size_t buffer_count, const mdist_call_options_t *options,
                             mdist_error_t **error) {
    return collective(rooted_call_of(&calls::kScatter, 0, root, inputs, outputs, buffer_count), replica, options,
                      error);
}

mdist_status_t mdist_barrier(mdist_replica_t *replica, const mdist_call_options_t *options, mdist_error_t **error) {
    return collective(call_of(&calls::kBarrier, 0, nullptr, nullptr, 0), replica, options, error);
}

mdist_status_t mdist_strategy_all_reduce(mdist_strategy_t *strategy, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                         const mdist_buffer_t *outputs, size_t buffer_count,
                                         const mdist_call_options_t *options, mdist_error_t **error) {
    return shared_call_guard("mdist_strategy_all_reduce", strategy, "mdist_all_reduce", error, [&](Strategy &self) {
        need_array(inputs, buffer_count, "inputs");
        need_array(outputs, buffer_count, "outputs");
        const Asker asker = asker_of(self, calls::kStrategyAllReduce, options);
        self.require_sound();
        const size_t all = is_operator(op) ? buffer_count * self.replicas.local_count() : buffer_count;
        with_operator(call_of(&calls::kStrategyAllReduce.sum, op, inputs, outputs, all),
                      [&](const Call &call) { all_reduce_local(self, asker, call, buffer_count); });
    });
}

mdist_status_t mdist_strategy_reduce(mdist_strategy_t *strategy, mdist_reduce_op_t op, const mdist_value_t *value,
                                     mdist_value_t **out, const mdist_call_options_t *options, mdist_error_t **error) {
    return reduce_to_plain("mdist_strategy_reduce", strategy, op, value, nullptr, 0, out, options, error);
}

mdist_status_t mdist_strategy_reduce_axes(mdist_strategy_t *strategy, mdist_reduce_op_t op, const mdist_value_t *value,
                                          const int32_t *axes, size_t axis_count, mdist_value_t **out,
                                          const mdist_call_options_t *options, mdist_error_t **error) {
    return reduce_to_plain("mdist_strategy_reduce_axes", strategy, op, value, axes, axis_count, out, options, error);
}

mdist_status_t mdist_strategy_reduce_to(mdist_strategy_t *strategy, mdist_reduce_op_t op, mdist_value_t *const *values,
                                        const char *const *destinations, size_t count, mdist_value_t **out,
                                        const mdist_call_options_t *options, mdist_error_t **error) {
    return shared_call_guard(
        "mdist_strategy_reduce_to", strategy, kInStep, error, [&](Strategy &self, bool &others_wait) {
            need_array(out, count, "out");
            const Asker asker = asker_of(self, calls::kReduceTo, options);
            self.require_sound();
            const PinnedValues pinned(values, count, "values");
            others_wait = self.reach.view().workers > 1 &&
                          std::any_of(pinned.all().begin(), pinned.all().end(),
                                      [&](const Value *value) { return reduces_with_others(self, op, *value, false); });
            std::vector<Target> targets(count, Target::everywhere());
            for (size_t i = 0; destinations != nullptr && i < count; ++i) targets[i] = target_of(self, destinations[i]);
            publish_all(reduce_values(self, asker, op, pinned.all(), targets), out);
        });
}

mdist_status_t mdist_strategy_broadcast(mdist_strategy_t *strategy, const mdist_tensor_t *tensor, mdist_value_t **out,
                                        mdist_error_t **error) {
    return strategy_guard("mdist_strategy_broadcast", strategy, "mdist_broadcast", error, [&](Strategy &self) {
        need(tensor, "tensor");
        need(out, "out");
        *out = publish<mdist_value_t>(broadcast_value(self, view_of(*tensor, "tensor")));
    });
}

mdist_status_t mdist_strategy_gather(mdist_strategy_t *strategy, const mdist_value_t *value, int32_t axis,
                                     mdist_value_t **out, const mdist_call_options_t *options, mdist_error_t **error) {
    return shared_call_guard("mdist_strategy_gather", strategy, "mdist_all_gather", error, [&](Strategy &self) {
        const auto pinned = pin(value);
        need(out, "out");
        const Asker asker = asker_of(self, calls::kGather, options);
        self.require_sound();
        *out = publish<mdist_value_t>(gather_value(self, asker, *pinned, axis));
    });
}
