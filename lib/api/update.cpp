// SPDX-License-Identifier: Apache-2.0
// Updates: one local replica after another, what belongs to each goes in, and what each makes is regrouped.
#include "api/update.h"

#include "api/replica_guard.h"
#include "api/values.h"
#include "strategy/values/structure.h"
#include "strategy/variables/variable.h"
#include "util/callback.h"
#include "util/text.h"

using namespace mdist;

namespace {

/// What is to be done on each local replica.
struct Update {
    Strategy &strategy;
    std::string what; // "the update of variable \"v\""
    mdist_update_fn function;
    void *user_data;
    const std::vector<ValuePointer> &arguments;
    size_t result_count;
};

/// What one replica makes, by result.
using Results = std::vector<Part>;

constexpr const char *kByName =
    "register the update on every worker (mdist_update_register) and call mdist_update_named";

void check_arguments(const std::vector<ValuePointer> &arguments, uint32_t replicas) {
    for (size_t i = 0; i < arguments.size(); ++i)
        visit_leaves(*arguments[i], [&](const Value &leaf, size_t) {
            leaf.check_count(replicas, static_cast<std::ptrdiff_t>(i));
            leaf.check_whole(static_cast<std::ptrdiff_t>(i));
        });
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

} // namespace

std::vector<ValuePointer> mdist::update_copies(Strategy &strategy, const Variable *variable, mdist_update_fn function,
                                               void *user_data, const std::vector<ValuePointer> &arguments,
                                               size_t result_count) {
    check_arguments(arguments, strategy.local_replica_count());
    std::string what = variable == nullptr ? "the update of what belongs to no variable"
                                           : text("the update of variable \"", variable->spec().name, "\"");
    const Update update{strategy, std::move(what), function, user_data, arguments, result_count};
    std::vector<Results> all;
    for (uint32_t local = 0; local < strategy.local_replica_count(); ++local) {
        const Context context(strategy, Context::Kind::kUpdate, local);
        mdist_tensor_t copy = {};
        if (variable != nullptr) copy = variable->copy(local).describe();
        try {
            all.push_back(update_one(update, local, variable == nullptr ? nullptr : &copy));
        } catch (Failure &failure) {
            throw std::move(failure).replica(static_cast<int32_t>(strategy.first_replica_id() + local));
        }
    }
    std::vector<ValuePointer> values;
    for (size_t i = 0; i < result_count; ++i) {
        std::vector<Part> parts;
        for (Results &made : all) parts.push_back(std::move(made[i]));
        values.push_back(
            regroup(text("result ", i, " of ", update.what), std::move(parts), strategy.first_replica_id()));
    }
    return values;
}

mdist_status_t mdist_update(mdist_variable_t *variable, mdist_update_fn update, void *user_data,
                            mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results,
                            size_t result_count, mdist_error_t **error) {
    return guard("mdist_update", error, [&] {
        const auto self = pin(variable);
        if (update == nullptr) throw invalid("update is NULL");
        need_array(results, result_count, "results");
        const std::vector<ValuePointer> given = values_of(arguments, argument_count, "arguments");
        Strategy &strategy = *self->strategy();
        const Turn turn(strategy, "mdist_update", "mdist_merge_call first, and update inside the merge");
        strategy.require_no_commands("mdist_update", kByName);
        hand_out(update_copies(strategy, self.get(), update, user_data, given, result_count), results);
    });
}

mdist_status_t mdist_update_non_slot(mdist_strategy_t *strategy, mdist_update_fn update, void *user_data,
                                     mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results,
                                     size_t result_count, mdist_error_t **error) {
    return strategy_guard("mdist_update_non_slot", strategy, "mdist_merge_call first, and update inside the merge",
                          error, [&](Strategy &self) {
                              if (update == nullptr) throw invalid("update is NULL");
                              need_array(results, result_count, "results");
                              const auto given = values_of(arguments, argument_count, "arguments");
                              self.require_no_commands("mdist_update_non_slot", kByName);
                              hand_out(update_copies(self, nullptr, update, user_data, given, result_count), results);
                          });
}
