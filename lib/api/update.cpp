// SPDX-License-Identifier: Apache-2.0
// Updates: one local replica after another, what belongs to each goes in, and what each makes is regrouped.
#include "api/replica_guard.h"
#include "api/values.h"
#include "strategy/values/structure.h"
#include "strategy/variables/variable.h"
#include "util/callback.h"
#include "util/text.h"

#include <functional>

using namespace mdist;

namespace {

/// What the caller wants done on each local replica.
struct Update {
    Strategy &strategy;
    std::string what; // "the update of variable \"v\""
    mdist_update_fn function;
    void *user_data;
    std::vector<ValuePointer> arguments;
    size_t result_count;
};

/// What one replica makes, by result.
using Results = std::vector<Part>;

Update update_of(Strategy &strategy, std::string what, mdist_update_fn function, void *user_data,
                 mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results, size_t result_count) {
    if (function == nullptr) throw invalid("update is NULL");
    need_array(results, result_count, "results");
    Update update{strategy,    std::move(what), function, user_data, values_of(arguments, argument_count, "arguments"),
                  result_count};
    for (size_t i = 0; i < argument_count; ++i)
        visit_leaves(*update.arguments[i], [&](const Value &leaf, size_t) {
            leaf.check_count(strategy.local_replica_count(), static_cast<std::ptrdiff_t>(i));
            leaf.check_whole(static_cast<std::ptrdiff_t>(i));
        });
    return update;
}

/// Its tensors of all arguments, leaf by leaf.
std::vector<mdist_tensor_t> tensors_for(const Update &update, uint32_t local) {
    std::vector<mdist_tensor_t> tensors;
    for (const ValuePointer &argument : update.arguments)
        visit_leaves(*argument,
                     [&](const Value &leaf, size_t) { tensors.push_back(leaf.tensor_for(local).describe()); });
    return tensors;
}

/// Calls the function for one replica.
Results update_one(const Update &update, uint32_t local, const mdist_tensor_t *copy) {
    const std::vector<mdist_tensor_t> tensors = tensors_for(update, local);
    const auto who = [&] { return text(update.what, ", copy ", local, ","); };
    ValueHandles made(std::vector<mdist_value_t *>(update.result_count, nullptr));
    const int32_t code = call_back(who, [&] {
        return update.function(local, copy, tensors.data(), tensors.size(), made.get(), update.result_count,
                               update.user_data);
    });
    if (code != 0) throw callback_returned(who(), code);
    Results results;
    for (const ValuePointer &value : values_or_none(made.get(), update.result_count, "results"))
        results.push_back(value ? part_made(*value, text(who(), " result ", results.size(), ",")) : Part());
    return results;
}

/// All local replicas, one after another; `copy_of` gives what is updated.
void update_all(const Update &update, const std::function<const mdist_tensor_t *(uint32_t)> &copy_of,
                mdist_value_t **results) {
    std::vector<Results> all;
    for (uint32_t local = 0; local < update.strategy.local_replica_count(); ++local) {
        const Context context(update.strategy, Context::Kind::kUpdate, local);
        try {
            all.push_back(update_one(update, local, copy_of(local)));
        } catch (Failure &failure) {
            throw std::move(failure).replica(static_cast<int32_t>(update.strategy.first_replica_id() + local));
        }
    }
    std::vector<ValuePointer> values;
    for (size_t i = 0; i < update.result_count; ++i) {
        std::vector<Part> parts;
        for (Results &made : all) parts.push_back(std::move(made[i]));
        values.push_back(
            regroup(text("result ", i, " of ", update.what), std::move(parts), update.strategy.first_replica_id()));
    }
    const std::vector<mdist_value_t *> handles = publish_values(values);
    for (size_t i = 0; i < handles.size(); ++i) results[i] = handles[i];
}

} // namespace

mdist_status_t mdist_update(mdist_variable_t *variable, mdist_update_fn update, void *user_data,
                            mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results,
                            size_t result_count, mdist_error_t **error) {
    return guard("mdist_update", error, [&] {
        const auto self = pin(variable);
        const Update call = update_of(*self->strategy(), text("the update of variable \"", self->spec().name, "\""),
                                      update, user_data, arguments, argument_count, results, result_count);
        const Turn turn(call.strategy, "mdist_update", "mdist_merge_call first, and update inside the merge");
        mdist_tensor_t copy;
        update_all(
            call,
            [&](uint32_t local) {
                copy = self->copy(local).describe();
                return &copy;
            },
            results);
    });
}

mdist_status_t mdist_update_non_slot(mdist_strategy_t *strategy, mdist_update_fn update, void *user_data,
                                     mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results,
                                     size_t result_count, mdist_error_t **error) {
    return strategy_guard("mdist_update_non_slot", strategy, "mdist_merge_call first, and update inside the merge",
                          error, [&](Strategy &self) {
                              const Update call =
                                  update_of(self, "the update of what belongs to no variable", update, user_data,
                                            arguments, argument_count, results, result_count);
                              update_all(
                                  call, [](uint32_t) { return nullptr; }, results);
                          });
}
