// SPDX-License-Identifier: Apache-2.0
#include "api/attachments.h"
#include "api/replica_guard.h"
#include "api/run_io.h"
#include "strategy/job/call_functions.h"
#include "util/callback.h"
#include "util/text.h"

#include <mdist/threads.h>

#include <algorithm>
#include <utility>

using namespace mdist;

namespace {

/// Throws WRONG_CONTEXT inside a step of mdist_run.
void require_entered(const Replica &replica, const char *function, const char *instead) {
    if (!replica.entered)
        throw Failure(
            MDIST_ERR_WRONG_CONTEXT,
            text(function, " works only with replicas from mdist_replica_enter; a step of mdist_run ", instead));
}

constexpr const char *kMergeCall = "calls mdist_merge_call";

} // namespace

mdist_status_t mdist_run_begin(mdist_strategy_t *strategy, const mdist_run_io_t *io, mdist_error_t **error) {
    return guard("mdist_run_begin", error, [&] {
        const auto pinned = pin(strategy);
        RunIo run = read_io(io, IoUse::kLater);
        pinned->open_runs().begin(std::move(run.arguments), run.results.size(), run.timeout_ns);
    });
}

mdist_status_t mdist_run_end(mdist_strategy_t *strategy, mdist_value_t **results, size_t result_count,
                             mdist_error_t **error) {
    return guard("mdist_run_end", error, [&] {
        const auto pinned = pin(strategy);
        need_array(results, result_count, "results");
        std::vector<ValuePointer> values(result_count);
        pinned->open_runs().end(values);
        publish_all(std::move(values), results);
    });
}

mdist_status_t mdist_replica_enter(mdist_strategy_t *strategy, uint32_t local_replica, mdist_replica_t **out,
                                   mdist_error_t **error) {
    return guard("mdist_replica_enter", error, [&] {
        const auto pinned = pin(strategy);
        need(out, "out");
        CalledBack::take_said(); // an earlier message belongs to something else
        mdist_replica_t *handle = nullptr;
        pinned->open_runs().enter(local_replica, [&](Replica &replica) { handle = renew_handle(*pinned, replica); });
        *out = handle;
    });
}

mdist_status_t mdist_replica_exit(mdist_replica_t *replica, int32_t code, mdist_error_t **error) {
    return guard("mdist_replica_exit", error, [&] {
        const auto pinned = pin(replica);
        ReplicaUse use(*pinned, "mdist_replica_exit", true);
        require_entered(*pinned, "mdist_replica_exit", "returns");
        strategy_of(*pinned).open_runs().exit(*pinned, code, [&] {
            retire_handle(*pinned);
            use.end();
        });
    });
}

mdist_status_t mdist_merge_begin(mdist_replica_t *replica, const mdist_tensor_t *arguments, size_t argument_count,
                                 mdist_value_t **values, const mdist_call_options_t *options, mdist_error_t **error) {
    return guard("mdist_merge_begin", error, [&] {
        const auto pinned = pin(replica);
        const ReplicaUse use(*pinned, "mdist_merge_begin");
        require_entered(*pinned, "mdist_merge_begin", kMergeCall);
        OpenRuns &runs = strategy_of(*pinned).open_runs();
        note_failures(*pinned, "mdist_merge_begin", Others::kWait, [&] {
            need_array(values, argument_count, "values");
            pinned->await_all("mdist_merge_begin");
            const uint64_t timeout_ns = timeout_of(options);
            std::vector<Part> parts = merge_arguments(*pinned, arguments, argument_count);
            runs.open_merge(*pinned, &calls::kOpenMerge, std::move(parts), 0, timeout_ns,
                            [&](const std::vector<ValuePointer> &regrouped) { publish_all(regrouped, values); });
            if (pinned->local_index() != 0) std::fill_n(values, argument_count, nullptr);
        });
        runs.lend_turn(*pinned);
    });
}

mdist_status_t mdist_merge_end(mdist_replica_t *replica, int32_t code, mdist_value_t *const *values,
                               mdist_tensor_t *results, size_t count, mdist_error_t **error) {
    return guard("mdist_merge_end", error, [&] {
        const auto pinned = pin(replica);
        const ReplicaUse use(*pinned, "mdist_merge_end", true);
        require_entered(*pinned, "mdist_merge_end", kMergeCall);
        OpenRuns &runs = strategy_of(*pinned).open_runs();
        runs.take_turn_back(*pinned, "mdist_merge_end");
        // From here on the merge is closed in any case, and every failure fails the run.
        std::string said = CalledBack::take_said();
        note_failures(*pinned, "mdist_merge_end", Others::kWait, [&] {
            runs.close_merge(*pinned, "mdist_merge_end", count, [&]() -> std::vector<ValuePointer> {
                if (pinned->local_index() == 0 && code != 0)
                    throw callback_returned("the merge", code, {std::move(said), pinned->last_failure.sentence()});
                need_array(results, count, "results");
                if (pinned->local_index() != 0) return {};
                return values_or_none(values, count, "values");
            });
            describe_merged(*pinned, results, count);
        });
    });
}
