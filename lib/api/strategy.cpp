// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.h"

#include "api/step_call.h"
#include "api/values.h"
#include "cluster/config.h"
#include "strategy/steps/map.h"
#include "util/log.h"
#include "util/long_wait.h"

#include <utility>

using namespace mdist;

namespace {

const char *or_empty(const char *path) {
    if (path == nullptr) return "";
    need_text(path, "path");
    return path;
}

void call_merge(mdist_strategy_t *strategy, mdist_merge_fn merge, void *user_data,
                const std::vector<ValuePointer> &arguments, std::vector<ValuePointer> &results) {
    const ValueHandles handles(publish_values(arguments));
    ValueHandles made(std::vector<mdist_value_t *>(results.size(), nullptr));
    call_back_or_fail(
        [] { return "the merge function"; },
        [&] { return merge(strategy, handles.get(), arguments.size(), made.get(), results.size(), user_data); });
    for (size_t i = 0; i < results.size(); ++i)
        if (made.get()[i] != nullptr) results[i] = pin(made.get()[i]).shared();
}

/// Makes the strategy under the log level of its configuration. The level stays, unless this throws.
std::shared_ptr<Strategy> make_strategy(const Config &settings) {
    mdist_log_level_t level = MDIST_LOG_WARN;
    if (!settings.is_set("log.level") || !log::level_from_name(settings.text("log.level"), &level))
        return std::make_shared<Strategy>(settings);
    const mdist_log_level_t before = log::level();
    log::set_level(level);
    try {
        return std::make_shared<Strategy>(settings);
    } catch (...) {
        log::replace_level(level, before); // unless somebody else has set it meanwhile
        throw;
    }
}

} // namespace

mdist_status_t mdist_strategy_create(const mdist_config_t *config, mdist_strategy_t **out, mdist_error_t **error) {
    return guard("mdist_strategy_create", error, [&] {
        need(out, "out");
        Config environment;
        if (config == nullptr) environment.load_environment();
        const auto pinned = config == nullptr ? Pinned<Config>() : pin(config);
        const Config &settings = config == nullptr ? environment : *pinned;
        watch_forks();
        if (settings.is_set("log.wait_after")) LongWait::set_after(settings.duration_ns("log.wait_after"));
        *out = publish_strategy(make_strategy(settings));
    });
}

void mdist_strategy_abort(mdist_strategy_t *strategy) {
    if (process_forked()) return;
    if (const auto pinned = try_pin(strategy)) pinned->comm.abort("mdist_strategy_abort was called", "aborted");
}

mdist_status_t mdist_strategy_check_health(const mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_strategy_check_health", error, [&] { pin(strategy)->comm.check_health(); });
}

void mdist_strategy_destroy(mdist_strategy_t *strategy) {
    if (const auto object = give_up(strategy)) object->close();
}

uint32_t mdist_strategy_replica_count(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned ? pinned->replicas.count() : 0;
}

uint32_t mdist_strategy_local_replica_count(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned ? pinned->reach.view().replicas : 0;
}

uint32_t mdist_strategy_worker_count(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned ? pinned->replicas.worker_count() : 0;
}

uint32_t mdist_strategy_rank(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned ? pinned->replicas.worker() : MDIST_NONE;
}

uint32_t mdist_strategy_first_replica_id(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned ? pinned->replicas.first_id() : MDIST_NONE;
}

int32_t mdist_strategy_is_chief(const mdist_strategy_t *strategy) {
    const auto pinned = try_pin(strategy);
    return pinned && pinned->replicas.worker() == 0 ? 1 : 0;
}

mdist_status_t mdist_strategy_device(const mdist_strategy_t *strategy, uint32_t local_replica, char *text,
                                     size_t capacity, size_t *needed, mdist_error_t **error) {
    return guard("mdist_strategy_device", error, [&] {
        const auto pinned = pin(strategy);
        const uint32_t count = pinned->reach.view().replicas;
        if (local_replica >= count)
            throw invalid(mdist::text("local_replica is ", local_replica, "; this strategy has ", count));
        copy_text(pinned->reach.place_name(local_replica), text, capacity, needed);
    });
}

mdist_status_t mdist_run(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data, const mdist_run_io_t *io,
                         mdist_error_t **error) {
    return guard("mdist_run", error, [&] {
        const auto pinned = pin(strategy);
        if (step == nullptr) throw invalid("step is NULL");
        RunIo run = read_io(io);
        pinned->runs().run([&](Replica &replica) { return call_step(*pinned, replica, step, user_data); },
                           std::move(run.arguments), run.results, run.timeout_ns);
        run.finish();
    });
}

mdist_status_t mdist_map(mdist_strategy_t *strategy, uint64_t count, mdist_element_fn function, void *user_data,
                         const mdist_run_io_t *io, mdist_error_t **error) {
    return guard("mdist_map", error, [&] {
        const auto pinned = pin(strategy);
        if (function == nullptr) throw invalid("function is NULL");
        RunIo run = read_io(io);
        struct Retirement {
            Replica &replica;
            ~Retirement() { retire_handle(replica); }
        };
        const auto call = [&](Replica &replica, uint64_t element) {
            const Retirement retirement{replica}; // the handle is of this element only
            return call_with_handle(
                *pinned, replica, [&] { return text("the function of element ", element); },
                [&](mdist_replica_t *handle) { return function(handle, element, user_data); });
        };
        map_elements(pinned->runs(), count, call, std::move(run.arguments), run.results, run.timeout_ns);
        run.finish();
    });
}

uint32_t mdist_replica_id(const mdist_replica_t *replica) {
    const auto pinned = try_pin(replica);
    return pinned ? pinned->id() : MDIST_NONE;
}

uint32_t mdist_replica_local_index(const mdist_replica_t *replica) {
    const auto pinned = try_pin(replica);
    return pinned ? pinned->local_index() : MDIST_NONE;
}

uint32_t mdist_replica_count(const mdist_replica_t *replica) {
    const auto pinned = try_pin(replica);
    return pinned ? pinned->job().replicas.count() : 0;
}

mdist_status_t mdist_replica_argument(mdist_replica_t *replica, size_t index, const char *path, mdist_tensor_t *out,
                                      mdist_error_t **error) {
    return replica_guard("mdist_replica_argument", replica, Others::kAway, error, [&](Replica &self) {
        need(out, "out");
        *out = (path == nullptr ? self.argument(index) : self.argument_at(index, or_empty(path))).describe();
    });
}

mdist_status_t mdist_replica_set_result(mdist_replica_t *replica, size_t index, const char *path,
                                        const mdist_tensor_t *tensor, mdist_error_t **error) {
    return replica_guard("mdist_replica_set_result", replica, Others::kAway, error,
                         [&](Replica &self) { self.set_result(index, or_empty(path), copy_for(self, tensor)); });
}

mdist_status_t mdist_replica_set_merge_argument(mdist_replica_t *replica, size_t index, const char *path,
                                                const mdist_tensor_t *tensor, mdist_error_t **error) {
    return replica_guard("mdist_replica_set_merge_argument", replica, Others::kAway, error, [&](Replica &self) {
        need_text(path, "path");
        self.set_merge_argument(index, path, copy_for(self, tensor));
    });
}

mdist_status_t mdist_replica_merge_result(mdist_replica_t *replica, size_t index, const char *path, mdist_tensor_t *out,
                                          mdist_error_t **error) {
    return replica_guard("mdist_replica_merge_result", replica, Others::kAway, error, [&](Replica &self) {
        need(out, "out");
        *out = self.merged_at(index, or_empty(path)).describe();
    });
}

mdist_status_t mdist_merge_call(mdist_replica_t *replica, mdist_merge_fn merge, void *user_data,
                                const mdist_tensor_t *arguments, size_t argument_count, mdist_tensor_t *results,
                                size_t result_count, const mdist_call_options_t *options, mdist_error_t **error) {
    return replica_guard("mdist_merge_call", replica, Others::kMeet, error, [&](Replica &self) {
        if (merge == nullptr) throw invalid("merge is NULL");
        need_array(results, result_count, "results");
        const uint64_t timeout_ns = timeout_of(options);
        std::vector<Part> parts = merge_arguments(self, arguments, argument_count);
        mdist_strategy_t *const strategy = handle_of(self.job());
        strategy_of(self).merge(
            self,
            [&](const std::vector<ValuePointer> &in, std::vector<ValuePointer> &out) {
                call_merge(strategy, merge, user_data, in, out);
            },
            std::move(parts), result_count, timeout_ns);
        describe_merged(self, results, result_count);
    });
}
