// SPDX-License-Identifier: Apache-2.0
#include <mdist/store.h>

#include <memory>

#include "api/check.h"
#include "api/guard.h"
#include "cluster/secret_file.h"
#include "membership/store_service.h"
#include "util/text.h"

namespace {

using namespace mdist;

constexpr uint64_t kResolveNs = 10'000'000'000;
constexpr uint32_t kMostWorkers = 65536;

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
        StoreOptions options;
        options.size = worker_count;
        options.restart = restart;
        options.job = job == nullptr ? "" : job;
        options.secret = secret == nullptr ? "" : secret;
        if (options.job.size() > kMostJobBytes)
            throw invalid(text("job has ", options.job.size(), " bytes; at most ", kMostJobBytes, " are allowed"));
        if (!options.secret.empty() && options.secret.size() < kShortestSecret)
            throw invalid(text("secret has ", options.secret.size(), " bytes; pass at least ", kShortestSecret,
                               " random ones, as `mdist secret` writes, or NULL for none"));
        watch_forks();
        *out = publish<mdist_store_t>(std::make_shared<StoreService>(address, options, kResolveNs));
    });
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
        pinned->restart(worker_count, restart);
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
        *worker = pinned->first_gone();
    });
}

void mdist_store_destroy(mdist_store_t *store) {
    give_up(store);
}
