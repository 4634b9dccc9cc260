// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.h"

#include "api/check.h"
#include "api/guard.h"
#include "api/replica_guard.h"
#include "strategy/elastic/elastic.h"
#include "strategy/job/context.h"
#include "util/callback.h"
#include "util/text.h"

#include <mdist/elastic.h>

#include <utility>

using namespace mdist;

namespace {

constexpr const char *kOutside = "it outside of steps, between two runs";

Elastic &elastic_part_of(const Strategy &strategy, const char *function) {
    if (Elastic *const part = strategy.elastic_part()) return *part;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text(function, ": the job is of fixed size; set elastic.replicas to make it elastic"))
        .reason("not_elastic");
}

/// Merges and updates have the turn of their run, which is open.
void require_no_context(const Job &job, const char *function) {
    if (Context::of(job) != nullptr)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(function, " cannot be called while a run or merge is open. Call ", kOutside))
            .reason("open_run");
}

/// For functions of elastic jobs: runs `body(Strategy &, Elastic &, timeout)` with the turn, between runs.
template <class Body>
mdist_status_t elastic_guard(const char *function, mdist_strategy_t *handle, const mdist_call_options_t *options,
                             mdist_error_t **error, Body &&body) {
    return strategy_guard(function, handle, kOutside, error, [&](Strategy &strategy) {
        require_no_context(strategy, function);
        body(strategy, elastic_part_of(strategy, function), timeout_of(options));
    });
}

void describe_change(const Job &job, uint64_t step, mdist_change_t *change) {
    change->generation = job.elastic.generation();
    change->step = step;
    change->rank = job.replicas.worker();
    change->worker_count = job.replicas.worker_count();
    change->first_replica_id = job.replicas.first_id();
    change->local_replica_count = job.replicas.local_count();
}

} // namespace

mdist_status_t mdist_commit(mdist_strategy_t *strategy, uint64_t step, const mdist_call_options_t *options,
                            mdist_error_t **error) {
    return elastic_guard("mdist_commit", strategy, options, error,
                         [&](Strategy &, Elastic &part, uint64_t timeout_ns) { part.commit(step, timeout_ns); });
}

mdist_status_t mdist_regroup(mdist_strategy_t *strategy, mdist_change_t *change, const mdist_call_options_t *options,
                             mdist_error_t **error) {
    return elastic_guard("mdist_regroup", strategy, options, error,
                         [&](Strategy &self, Elastic &part, uint64_t timeout_ns) {
                             if (change != nullptr) check_struct_size(change, sizeof *change, sizeof *change, "change");
                             const uint64_t step = part.regroup(timeout_ns);
                             if (change != nullptr) describe_change(self, step, change);
                         });
}

mdist_status_t mdist_blob_create(mdist_strategy_t *strategy, const char *name, size_t bytes, mdist_blob_save_fn save,
                                 mdist_blob_restore_fn restore, void *user_data, mdist_free_fn free_user_data,
                                 mdist_blob_t **out, mdist_error_t **error) {
    Kept kept(user_data, free_user_data);
    return guard("mdist_blob_create", error, [&] {
        const auto self = pin(strategy);
        need_text(name, "name");
        need(out, "out");
        if (*name == '\0') throw invalid("the blob's name is empty");
        if (bytes > PTRDIFF_MAX) throw invalid(text("bytes is ", bytes, ", more than memory can hold"));
        if (save == nullptr) throw invalid("save is NULL");
        if (restore == nullptr) throw invalid("restore is NULL");
        const auto owned = kept.share(); // kept by both functions
        auto blob = std::make_shared<Blob>();
        blob->name = name;
        blob->bytes = bytes;
        blob->save = [bytes, save, user_data, called = blob->name, owned = owned](uint32_t replica, void *to) {
            call_back_or_fail(
                [&] { return text("the function that saves blob \"", called, "\" of replica ", replica); },
                [&] { return save(replica, to, bytes, user_data); });
        };
        blob->restore = [bytes, restore, user_data, called = blob->name, owned = owned](uint32_t replica,
                                                                                        const void *from) {
            call_back_or_fail(
                [&] { return text("the function that restores blob \"", called, "\" of replica ", replica); },
                [&] { return restore(replica, from, bytes, user_data); });
        };
        if (Elastic *const part = self->elastic_part()) part->add(blob);
        *out = publish<mdist_blob_t>(std::move(blob));
    });
}

void mdist_blob_destroy(mdist_blob_t *blob) {
    give_up(blob);
}
