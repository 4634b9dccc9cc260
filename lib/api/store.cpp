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

/// What a store of either kind is told.
template <class Options>
void check_names(Options &options, const char *job, const char *secret) {
    options.job = job == nullptr ? "" : job;
    options.secret = secret == nullptr ? "" : secret;
    if (options.job.size() > kMostJobBytes)
        throw invalid(text("job has ", options.job.size(), " bytes; at most ", kMostJobBytes, " are allowed"));
    if (!options.secret.empty() && options.secret.size() < kShortestSecret)
        throw invalid(text("secret has ", options.secret.size(), " bytes; pass at least ", kShortestSecret,
                           " random ones, as `mdist secret` writes, or NULL for none"));
}

void check_worker_count(uint32_t count) {
    if (count == 0 || count > kMostWorkers)
        throw invalid(text("worker_count is ", count, "; it must be 1 to ", kMostWorkers));
}

} // namespace

mdist_status_t mdist_store_create(const char *address, uint32_t worker_count, const char *job, uint32_t restart,
                                  const char *secret, mdist_store_t **out, mdist_error_t **error) {
    return guard("mdist_store_create", error, [&] {
        need(address, "address");
        need(out, "out");
        check_worker_count(worker_count);
        FixedStoreOptions options;
        options.size = worker_count;
        options.restart = restart;
        check_names(options, job, secret);
        watch_forks();
        *out = publish<mdist_store_t>(std::make_shared<StoreService>(address, options, kResolveNs));
    });
}

mdist_status_t mdist_store_create_elastic(const char *address, const mdist_config_t *config, const char *job,
                                          const char *secret, mdist_store_t **out, mdist_error_t **error) {
    return guard("mdist_store_create_elastic", error, [&] {
        need(address, "address");
        need(out, "out");
        Config environment;
        if (config == nullptr) environment.load_environment();
        const auto pinned = config == nullptr ? Pinned<Config>() : pin(config);
        const Config &settings = config == nullptr ? environment : *pinned;
        const ElasticSettings elastic = elastic_settings(settings);
        if (!elastic.on())
            throw Failure(MDIST_ERR_CONFIG, "elastic.replicas is not set; set it to the number of replicas of the job")
                .reason("not_elastic");
        ElasticStoreOptions options;
        options.replicas = elastic.replicas;
        options.min_workers = elastic.min_workers;
        options.max_workers = elastic.max_workers;
        options.wait_ns = elastic.wait_ns;
        options.heartbeat_timeout_ns = settings.duration_ns("communication.heartbeat_timeout");
        options.open = elastic.open;
        check_names(options, job, secret);
        watch_forks();
        *out = publish<mdist_store_t>(
            std::make_shared<StoreService>(address, std::move(options), elastic.state, kResolveNs));
    });
}

mdist_status_t mdist_store_dismiss(mdist_store_t *store, uint64_t id, mdist_error_t **error) {
    return guard("mdist_store_dismiss", error,
                 [&] { with_elastic(*pin(store), [&](ElasticStore &elastic) { elastic.dismiss(id); }); });
}

mdist_status_t mdist_store_ended(const mdist_store_t *store, int32_t *ended, int32_t *committed,
                                 mdist_error_t **error) {
    return guard("mdist_store_ended", error, [&] {
        const auto pinned = pin(store);
        need(ended, "ended");
        const auto failure = with_elastic(*pinned, [committed](ElasticStore &elastic) {
            if (committed != nullptr) *committed = elastic.knows_of_commit() ? 1 : 0;
            return elastic.failure();
        });
        if (failure && failure->reason() != "job_ended") throw Failure(*failure);
        *ended = failure ? 1 : 0;
    });
}

mdist_status_t mdist_store_left_behind(mdist_store_t *store, uint64_t *id, int32_t *goes_on, mdist_error_t **error) {
    return guard("mdist_store_left_behind", error, [&] {
        const auto pinned = pin(store);
        need(id, "id");
        const auto left = with_elastic(*pinned, [](ElasticStore &elastic) { return elastic.take_left_behind(); });
        *id = left ? left->id : 0;
        if (goes_on != nullptr) *goes_on = left && left->job_goes_on ? 1 : 0;
    });
}

mdist_status_t mdist_store_worker_ended(mdist_store_t *store, uint64_t id, mdist_error_t **error) {
    return guard("mdist_store_worker_ended", error,
                 [&] { with_elastic(*pin(store), [&](ElasticStore &elastic) { elastic.reaped(id); }); });
}

mdist_status_t mdist_store_address(const mdist_store_t *store, char *text, size_t capacity, size_t *needed,
                                   mdist_error_t **error) {
    return guard("mdist_store_address", error, [&] {
        const auto pinned = pin(store);
        copy_text(pinned->address(), text, capacity, needed);
    });
}

mdist_status_t mdist_store_restart(mdist_store_t *store, uint32_t worker_count, uint32_t restart,
                                   mdist_error_t **error) {
    return guard("mdist_store_restart", error, [&] {
        const auto pinned = pin(store);
        check_worker_count(worker_count);
        with_fixed(*pinned, [&](FixedStore &fixed) { fixed.restart(worker_count, restart); });
    });
}

mdist_status_t mdist_store_progress(const mdist_store_t *store, uint32_t *joined, char *text, size_t capacity,
                                    size_t *needed, mdist_error_t **error) {
    return guard("mdist_store_progress", error, [&] {
        const auto pinned = pin(store);
        uint32_t count = 0;
        const std::string progress = pinned->progress(&count);
        copy_text(progress, text, capacity, needed);
        if (joined != nullptr) *joined = count;
    });
}

mdist_status_t mdist_store_first_gone(const mdist_store_t *store, uint32_t *worker, mdist_error_t **error) {
    return guard("mdist_store_first_gone", error, [&] {
        const auto pinned = pin(store);
        need(worker, "worker");
        const auto first_gone = [&] { return pinned->fixed()->first_gone(); };
        *worker = pinned->fixed() == nullptr ? MDIST_NONE : pinned->with_lock(first_gone);
    });
}

void mdist_store_destroy(mdist_store_t *store) {
    give_up(store);
}
