// SPDX-License-Identifier: Apache-2.0
#include <mdist/store.h>

#include <memory>
#include <utility>

#include "api/check.h"
#include "api/guard.h"
#include "cluster/config.h"
#include "cluster/elastic_settings.h"
#include "cluster/secret_file.h"
#include "membership/store/store_service.h"
#include "util/text.h"

namespace {

using namespace mdist;

constexpr uint64_t kResolveNs = 10'000'000'000;

/// Runs use(store) on the store of a job of fixed size.
template <class Use>
auto with_fixed(StoreService &service, Use &&use) {
    if (service.fixed() == nullptr)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "the store serves an elastic job, which goes on without being restarted. For a new job create a "
                      "new store");
    return service.with_lock([&] { return use(*service.fixed()); });
}

/// Runs use(store) on the store of an elastic job.
template <class Use>
auto with_elastic(StoreService &service, Use &&use) {
    if (service.elastic() == nullptr)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "the store serves a job of fixed size, which ends with its first worker that ends");
    return service.with_lock([&] { return use(*service.elastic()); });
}

void check_worker_count(uint32_t count) {
    if (count == 0 || count > kMostWorkers)
        throw invalid(text("worker_count is ", count, "; it must be 1 to ", kMostWorkers));
}

/// What a store of either kind is told.
template <class Options>
void set_names(Options &options, const mdist_store_options_t &given) {
    options.job = given.job == nullptr ? "" : given.job;
    options.secret = given.secret == nullptr ? "" : given.secret;
    if (options.job.size() > kMostJobBytes)
        throw invalid(text("job has ", options.job.size(), " bytes; at most ", kMostJobBytes, " are allowed"));
    if (!options.secret.empty() && options.secret.size() < kShortestSecret)
        throw invalid(text("secret has ", options.secret.size(), " bytes; pass at least ", kShortestSecret,
                           " random ones, as `mdist secret` writes, or NULL for none"));
}

std::shared_ptr<StoreService> fixed_service(const char *address, const mdist_store_options_t &given) {
    if (given.worker_count == 0)
        throw invalid(text("worker_count is 0 and config is NULL; a job of fixed size needs its worker_count, 1 to ",
                           kMostWorkers, ", and an elastic job its config"));
    check_worker_count(given.worker_count);
    FixedStoreOptions options;
    options.size = given.worker_count;
    options.restart = given.restart;
    set_names(options, given);
    watch_forks();
    return std::make_shared<StoreService>(address, options, kResolveNs);
}

std::shared_ptr<StoreService> elastic_service(const char *address, const mdist_store_options_t &given) {
    if (given.worker_count != 0)
        throw invalid(text("worker_count is ", given.worker_count,
                           " and config is not NULL; an elastic job has its "
                           "numbers of workers in its config, so let worker_count be 0"));
    if (given.restart != 0)
        throw invalid(text("restart is ", given.restart,
                           " and config is not NULL; an elastic job goes on without being "
                           "restarted, so let restart be 0"));
    const auto config = pin(given.config);
    const ElasticSettings elastic = elastic_settings(*config);
    if (!elastic.on())
        throw Failure(MDIST_ERR_CONFIG, "elastic.replicas is not set; set it to the number of replicas of the job")
            .reason("not_elastic");
    ElasticStoreOptions options;
    options.replicas = elastic.replicas;
    options.min_workers = elastic.min_workers;
    options.max_workers = elastic.max_workers;
    options.wait_ns = elastic.wait_ns;
    options.heartbeat_timeout_ns = config->duration_ns("communication.heartbeat_timeout");
    options.open = elastic.open;
    set_names(options, given);
    watch_forks();
    return std::make_shared<StoreService>(address, std::move(options), elastic.state, kResolveNs);
}

} // namespace

mdist_status_t mdist_store_create(const char *address, mdist_store_t **out, const mdist_store_options_t *options,
                                  mdist_error_t **error) {
    return guard("mdist_store_create", error, [&] {
        need(address, "address");
        need(out, "out");
        const mdist_store_options_t given = read_options(options, "mdist_store_options_t");
        need_zero(given.reserved, "reserved");
        *out = publish<mdist_store_t>(given.config == nullptr ? fixed_service(address, given)
                                                              : elastic_service(address, given));
    });
}

mdist_status_t mdist_store_describe(const mdist_store_t *store, mdist_store_info_t *out, mdist_error_t **error) {
    return guard("mdist_store_describe", error, [&] {
        const auto pinned = pin(store);
        need(out, "out");
        check_struct_size(out, sizeof *out, sizeof *out, "mdist_store_info_t");
        const StoreState now = pinned->state();
        out->joined = now.joined;
        out->first_gone = now.first_gone;
        out->ended = now.failure && now.failure->reason() == "job_ended" ? 1 : 0;
        out->committed = now.committed ? 1 : 0;
        copy_text(pinned->address(), out->address, sizeof out->address, nullptr);
        copy_text(now.progress, out->progress, sizeof out->progress, nullptr);
        if (now.failure && out->ended == 0) throw Failure(*now.failure);
    });
}

mdist_status_t mdist_store_dismiss(mdist_store_t *store, uint64_t id, mdist_error_t **error) {
    return guard("mdist_store_dismiss", error,
                 [&] { with_elastic(*pin(store), [&](ElasticStore &elastic) { elastic.dismiss(id); }); });
}

mdist_status_t mdist_store_left_behind(mdist_store_t *store, uint64_t *id, int32_t *departure, mdist_error_t **error) {
    return guard("mdist_store_left_behind", error, [&] {
        const auto pinned = pin(store);
        need(id, "id");
        const auto left = with_elastic(*pinned, [](ElasticStore &elastic) { return elastic.take_left_behind(); });
        *id = left ? left->id : 0;
        if (departure != nullptr) *departure = left ? left->how : MDIST_DEPARTURE_JOB_FAILED;
    });
}

mdist_status_t mdist_store_worker_ended(mdist_store_t *store, uint64_t id, mdist_error_t **error) {
    return guard("mdist_store_worker_ended", error,
                 [&] { with_elastic(*pin(store), [&](ElasticStore &elastic) { elastic.reaped(id); }); });
}

mdist_status_t mdist_store_restart(mdist_store_t *store, uint32_t worker_count, uint32_t restart,
                                   mdist_error_t **error) {
    return guard("mdist_store_restart", error, [&] {
        const auto pinned = pin(store);
        check_worker_count(worker_count);
        with_fixed(*pinned, [&](FixedStore &fixed) { fixed.restart(worker_count, restart); });
    });
}

void mdist_store_destroy(mdist_store_t *store) {
    give_up(store);
}
