// SPDX-License-Identifier: Apache-2.0
#include "strategy/variables/variable.h"

#include "api/attachments.h"
#include "api/replica_guard.h"
#include "device/transfer/transfer.h"
#include "strategy/job/call_functions.h"
#include "strategy/serve/session.h"
#include "strategy/steps/create_variable.h"
#include "util/dtype.h"
#include "util/text.h"

#include <cstddef>
#include <cstdio>
#include <utility>

using namespace mdist;

namespace {

/// Returns the name of the variable to be colocated with; empty if there is none.
std::string colocated_with(const Job &strategy, const mdist_variable_t *other) {
    if (other == nullptr) return {};
    const auto pinned = pin(other);
    if (&pinned->job() != &strategy)
        throw invalid(text("options.colocate_with is variable \"", pinned->spec().name,
                           "\" of another strategy; it must be one of this strategy"));
    return pinned->spec().name;
}

VariableSpec spec_of(const Job &strategy, const char *name, const mdist_tensor_t *initial,
                     const mdist_variable_options_t *options) {
    constexpr size_t kFirstSize = offsetof(mdist_variable_options_t, colocate_with);
    need_text(name, "name");
    need(initial, "initial");
    const mdist_variable_options_t known = read_options(options, "options", kFirstSize);
    need_zero(static_cast<uint64_t>(known.reserved), "options.reserved");
    VariableSpec spec;
    spec.name = name;
    spec.colocated_with = colocated_with(strategy, known.colocate_with);
    spec.shape = checked_shape(*initial, "initial");
    spec.dtype = initial->dtype;
    spec.synchronization = known.synchronization;
    spec.aggregation = known.aggregation;
    spec.check();
    return spec;
}

constexpr const char *kInsteadOfCaching = "mdist_variable_tensor, and keep a copy of this replica's memory";

/// Checks functions that give out memory of this process.
void require_here(const Job &strategy, uint32_t local_replica, const char *function) {
    const uint32_t count = strategy.replicas.local_count();
    if (local_replica < count) return;
    if (local_replica < strategy.reach.view().replicas)
        strategy.reach.require_no_commands(function,
                                           "read the variable (mdist_variable_read), or use its memory in a step");
    throw invalid(text("local_replica is ", local_replica, "; this strategy has ", count));
}

/// Wraps the caller's tensor, valid only during the call; undefined without data.
Tensor initial_of(const mdist_tensor_t &tensor, const Device &device) {
    return tensor.data == nullptr ? Tensor() : view_of(tensor, "initial", {}, device.place().index);
}

} // namespace

mdist_status_t mdist_variable_create(mdist_strategy_t *strategy, const char *name, const mdist_tensor_t *initial,
                                     mdist_variable_t **out, const mdist_variable_options_t *options,
                                     mdist_error_t **error) {
    return shared_call_guard(
        "mdist_variable_create", strategy, "mdist_replica_variable_create", error, [&](Strategy &self) {
            need(out, "out");
            VariableSpec spec = spec_of(self, name, initial, options);
            const Tensor values = initial_of(*initial, self.reach.place(0));
            Session *const session = self.commanding();
            *out = publish<mdist_variable_t>(
                session != nullptr ? session->create(std::move(spec), values)
                                   : Variable::create(self.shared_from_this(), self.variables(), std::move(spec),
                                                      values, &calls::kCreateVariableOutside, 0));
        });
}

mdist_status_t mdist_replica_variable_create(mdist_replica_t *replica, const char *name, const mdist_tensor_t *initial,
                                             mdist_variable_t **out, const mdist_variable_options_t *options,
                                             mdist_error_t **error) {
    return replica_guard("mdist_replica_variable_create", replica, Others::kMeet, error, [&](Replica &self) {
        need(out, "out");
        VariableSpec spec = spec_of(self.job(), name, initial, options);
        const Tensor values = initial_of(*initial, self.device());
        *out =
            publish<mdist_variable_t>(create_in_step(self, strategy_of(self).variables(), std::move(spec), values, 0));
    });
}

mdist_status_t mdist_variable_assign(mdist_variable_t *variable, mdist_assign_t assign, const mdist_value_t *value,
                                     mdist_error_t **error) {
    return guard("mdist_variable_assign", error, [&] {
        const auto self = pin(variable);
        const auto pinned = pin(value);
        const Turn turn(self->job(), "mdist_variable_assign", "mdist_replica_assign");
        const Context *context = Context::of(self->job());
        if (context != nullptr && context->kind() == Context::Kind::kUpdate)
            self->assign_copy(context->local_replica(), assign, *pinned);
        else
            self->assign(assign, pinned.shared());
    });
}

mdist_status_t mdist_replica_assign(mdist_replica_t *replica, mdist_variable_t *variable, mdist_assign_t assign,
                                    const mdist_tensor_t *tensor, const mdist_call_options_t *options,
                                    mdist_error_t **error) {
    // The variable decides whether other replicas wait for this one in the same call.
    const auto known = try_pin(variable);
    const Others others = !known || known->aggregated_in_step() ? Others::kMeet : Others::kAway;
    return replica_guard("mdist_replica_assign", replica, others, error, [&](Replica &self) {
        if (!known) pin(variable); // throws why
        need(tensor, "tensor");
        const uint64_t timeout_ns = timeout_of(options);
        const int32_t gpu = self.device().place().index;
        known->assign_in_step(self, assign, view_of(*tensor, "the tensor", {}, gpu), timeout_ns);
    });
}

mdist_status_t mdist_variable_read(mdist_variable_t *variable, mdist_value_t **out, const mdist_call_options_t *options,
                                   mdist_error_t **error) {
    return guard("mdist_variable_read", error, [&] {
        const auto self = pin(variable);
        need(out, "out");
        const uint64_t timeout_ns = timeout_of(options);
        const Turn turn(self->job(), "mdist_variable_read",
                        "mdist_variable_tensor, and read this replica's copy from memory");
        VariableStore &store = self->store();
        // Only the client of an in-graph job has a cache. What all workers do together must not depend on it.
        const bool caches = self->job().reach.commands() || !self->job().reach.in_graph();
        std::shared_ptr<Value> value = caches ? store.cached_read(self->spec().name) : nullptr;
        if (!value) {
            value = Value::plain(self->read(timeout_ns));
            if (caches) store.cache_read(self->spec().name, value);
        }
        *out = publish<mdist_value_t>(std::move(value));
    });
}

mdist_status_t mdist_cached_reads_enter(mdist_strategy_t *strategy, mdist_error_t **error) {
    return strategy_guard("mdist_cached_reads_enter", strategy, kInsteadOfCaching, error,
                          [](Strategy &self) { self.variables()->enter_cached_reads(); });
}

mdist_status_t mdist_cached_reads_exit(mdist_strategy_t *strategy, mdist_error_t **error) {
    return strategy_guard("mdist_cached_reads_exit", strategy, kInsteadOfCaching, error,
                          [](Strategy &self) { self.variables()->exit_cached_reads(); });
}

mdist_status_t mdist_variable_tensor(const mdist_variable_t *variable, uint32_t local_replica, mdist_tensor_t *out,
                                     mdist_error_t **error) {
    return guard("mdist_variable_tensor", error, [&] {
        const auto self = pin(variable);
        need(out, "out");
        require_here(self->job(), local_replica, "mdist_variable_tensor");
        self->require_copies();
        *out = self->copy(local_replica).describe();
    });
}

const char *mdist_variable_name(const mdist_variable_t *variable) {
    const auto self = try_pin(variable);
    return self ? self->spec().name.c_str() : "";
}

mdist_status_t mdist_variable_arena(const mdist_strategy_t *strategy, mdist_dtype_t dtype, uint32_t local_replica,
                                    mdist_buffer_t *out, mdist_error_t **error) {
    return guard("mdist_variable_arena", error, [&] {
        const auto self = pin(strategy);
        need(out, "out");
        check_dtype(dtype, "the arena");
        require_here(*self, local_replica, "mdist_variable_arena");
        *out = self->variables()->arena(dtype, local_replica);
    });
}

mdist_status_t mdist_variable_named(const mdist_strategy_t *strategy, const char *name, mdist_variable_t **out,
                                    mdist_error_t **error) {
    return guard("mdist_variable_named", error, [&] {
        const auto self = pin(strategy);
        need_text(name, "name");
        need(out, "out");
        std::shared_ptr<Variable> found = self->variables()->find(name);
        if (!found)
            throw Failure(MDIST_ERR_NOT_FOUND, text("no variable of this strategy is named \"", name, "\"; there is ",
                                                    self->variables()->names_text()));
        *out = publish<mdist_variable_t>(std::move(found));
    });
}

mdist_status_t mdist_variable_at_address(const mdist_strategy_t *strategy, const void *address, mdist_variable_t **out,
                                         uint32_t *local_replica, mdist_error_t **error) {
    return guard("mdist_variable_at_address", error, [&] {
        const auto self = pin(strategy);
        need(out, "out");
        uint32_t local = 0;
        const std::shared_ptr<Variable> found = self->variables()->find(address, local);
        char hexadecimal[32];
        std::snprintf(hexadecimal, sizeof hexadecimal, "%p", address);
        if (!found)
            throw Failure(MDIST_ERR_NOT_FOUND, text("address ", hexadecimal,
                                                    " is not within a variable of this strategy. mdist_variable_tensor "
                                                    "returns the address of each variable"));
        *out = publish<mdist_variable_t>(found);
        if (local_replica != nullptr) *local_replica = local;
    });
}

void mdist_variable_destroy(mdist_variable_t *variable) {
    give_up(variable);
}
