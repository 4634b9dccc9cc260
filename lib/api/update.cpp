// SPDX-License-Identifier: Apache-2.0
// Updates: calls a function for one local replica after another with that replica's tensors, and regroups the results.
#include "api/update.h"

#include "api/replica_guard.h"
#include "api/run_io.h"
#include "device/transfer/transfer.h"
#include "strategy/values/structure.h"
#include "strategy/variables/variable.h"
#include "util/callback.h"
#include "util/text.h"

using namespace mdist;

namespace {

/// The update to do on each local replica.
struct Update {
    Job &job;
    std::string what; // "the update of variable \"v\""
    mdist_update_fn function;
    void *user_data;
    const std::vector<ValuePointer> &arguments;
    size_t result_count;
};

/// The results of one replica, by result.
using Results = std::vector<Part>;

constexpr const char *kByName =
    "register the update on every worker (mdist_update_register) and call mdist_update_named";

constexpr const char *kInStep = "mdist_merge_call first, and update inside the merge";

/// The replica's tensors of all arguments, leaf by leaf, where it can use them.
std::vector<Tensor> tensors_for(const Update &update, uint32_t local) {
    std::vector<Tensor> tensors;
    for (const ValuePointer &argument : update.arguments)
        visit_leaves(*argument, [&](const Value &leaf, size_t) {
            tensors.push_back(usable_on(update.job.replicas.device(local), leaf.tensor_for(local)));
        });
    return tensors;
}

/// Calls the function for one replica.
Results update_one(const Update &update, uint32_t local, const mdist_tensor_t *copy) {
    const std::vector<Tensor> used = tensors_for(update, local);
    std::vector<mdist_tensor_t> tensors;
    for (const Tensor &each : used) tensors.push_back(each.describe());
    const auto who = [&] { return text(update.what, ", copy ", local, ","); };
    ValueHandles made(std::vector<mdist_value_t *>(update.result_count, nullptr));
    call_back_or_fail(who, [&] {
        return update.function(local, copy, tensors.data(), tensors.size(), made.get(), update.result_count,
                               update.user_data);
    });
    Results results;
    for (const ValuePointer &value : values_or_none(made.get(), update.result_count, "results"))
        results.push_back(value ? part_made(*value, text(who(), " result ", results.size(), ",")) : Part());
    return results;
}

} // namespace

std::vector<ValuePointer> mdist::update_copies(Job &job, const Variable *variable, mdist_update_fn function,
                                               void *user_data, const std::vector<ValuePointer> &arguments,
                                               size_t result_count) {
    check_arguments(arguments, job.replicas.local_count());
    std::string what = variable == nullptr ? "the update of what belongs to no variable"
                                           : text("the update of variable \"", variable->spec().name, "\"");
    const Update update{job, std::move(what), function, user_data, arguments, result_count};
    std::vector<Results> all;
    if (variable != nullptr) variable->require_copies();
    for (uint32_t local = 0; local < job.replicas.local_count(); ++local) {
        const Context context(job, Context::Kind::kUpdate, local);
        mdist_tensor_t copy = {};
        if (variable != nullptr) copy = variable->copy(local).describe();
        try {
            all.push_back(update_one(update, local, variable == nullptr ? nullptr : &copy));
        } catch (Failure &failure) {
            throw std::move(failure).replica(job.replicas.first_id() + local);
        }
    }
    std::vector<ValuePointer> values;
    for (size_t i = 0; i < result_count; ++i) {
        std::vector<Part> parts;
        for (Results &made : all) parts.push_back(std::move(made[i]));
        values.push_back(regroup(text("result ", i, " of ", update.what), std::move(parts), job.replicas.first_id()));
    }
    return values;
}

namespace {

void update_now(const char *function, Job &job, const Variable *variable, mdist_update_fn update, void *user_data,
                const mdist_run_io_t *io) {
    if (update == nullptr) throw invalid("update is NULL");
    RunIo run = read_io(io, IoUse::kNoTimeout);
    job.reach.require_no_commands(function, kByName);
    run.results = update_copies(job, variable, update, user_data, run.arguments, run.results.size());
    run.finish();
}

} // namespace

mdist_status_t mdist_update(mdist_variable_t *variable, mdist_update_fn update, void *user_data,
                            const mdist_run_io_t *io, mdist_error_t **error) {
    return guard("mdist_update", error, [&] {
        const auto self = pin(variable);
        const Turn turn(self->job(), "mdist_update", kInStep);
        update_now("mdist_update", self->job(), self.get(), update, user_data, io);
    });
}

mdist_status_t mdist_update_devices(mdist_strategy_t *strategy, mdist_update_fn update, void *user_data,
                                    const mdist_run_io_t *io, mdist_error_t **error) {
    return strategy_guard("mdist_update_devices", strategy, kInStep, error, [&](Strategy &self) {
        update_now("mdist_update_devices", self, nullptr, update, user_data, io);
    });
}
