// SPDX-License-Identifier: Apache-2.0
#include "launch/store.h"

#include <string>
#include <vector>

namespace mdist {

namespace {

/// Its settings come from the environment, as those of the workers do. Only the numbers of workers come from the
/// command line.
mdist_store_t *elastic_store(const JobStoreOptions &options, const char *secret) {
    mdist_error_t *error = nullptr;
    const ConfigHandle made = make_config();
    mdist_config_t *const config = made.get();
    require_ok(mdist_config_load_environment(config, &error), error);
    require_ok(mdist_config_set(config, "elastic.min_workers", std::to_string(options.least).c_str(), &error), error);
    require_ok(mdist_config_set(config, "elastic.max_workers", std::to_string(options.size).c_str(), &error), error);
    if (!options.state.empty())
        require_ok(mdist_config_set(config, "elastic.state", options.state.c_str(), &error), error);
    mdist_store_t *store = nullptr;
    require_ok(mdist_store_create_elastic(options.address.c_str(), config, options.job.c_str(), secret, &store, &error),
               error);
    return store;
}

} // namespace

std::string configured(const char *key) {
    const ConfigHandle config = make_config();
    mdist_error_t *error = nullptr;
    require_ok(mdist_config_load_environment(config.get(), &error), error);
    char text[256] = "";
    require_ok(mdist_config_get(config.get(), key, text, sizeof text, nullptr, &error), error);
    return text;
}

JobStore::JobStore(const JobStoreOptions &options) : size_(options.size) {
    mdist_store_t *store = nullptr;
    mdist_error_t *error = nullptr;
    const char *secret = options.secret.empty() ? nullptr : options.secret.c_str();
    if (options.least != 0) {
        store_.reset(elastic_store(options, secret));
        return;
    }
    require_ok(mdist_store_create(options.address.c_str(), size_, options.job.c_str(), 0, secret, &store, &error),
               error);
    store_.reset(store);
}

std::string JobStore::address() const {
    mdist_error_t *error = nullptr;
    size_t needed = 0;
    require_ok(mdist_store_address(store_.get(), nullptr, 0, &needed, &error), error);
    std::vector<char> text(needed);
    require_ok(mdist_store_address(store_.get(), text.data(), text.size(), nullptr, &error), error);
    return text.data();
}

std::string JobStore::progress() const {
    mdist_error_t *error = nullptr;
    size_t needed = 0;
    require_ok(mdist_store_progress(store_.get(), nullptr, nullptr, 0, &needed, &error), error);
    std::vector<char> text(needed); // it may have become longer since then, and is cut off
    require_ok(mdist_store_progress(store_.get(), nullptr, text.data(), text.size(), nullptr, &error), error);
    return text.data();
}

uint32_t JobStore::first_gone() const {
    mdist_error_t *error = nullptr;
    uint32_t worker = MDIST_NONE;
    require_ok(mdist_store_first_gone(store_.get(), &worker, &error), error);
    return worker;
}

void JobStore::worker_ended(uint64_t id) {
    mdist_error_t *error = nullptr;
    require_ok(mdist_store_worker_ended(store_.get(), id, &error), error);
}

bool JobStore::ended() const {
    mdist_error_t *error = nullptr;
    int32_t ended = 0;
    require_ok(mdist_store_ended(store_.get(), &ended, nullptr, &error), error);
    return ended != 0;
}

bool JobStore::ended_without_commit() const {
    mdist_error_t *error = nullptr;
    int32_t ended = 0, committed = 0;
    const mdist_status_t status = mdist_store_ended(store_.get(), &ended, &committed, &error);
    mdist_error_free(error);
    return status == MDIST_OK && ended != 0 && committed == 0;
}

std::optional<LeftBehind> JobStore::take_left_behind() {
    mdist_error_t *error = nullptr;
    uint64_t id = 0;
    int32_t goes_on = 0;
    require_ok(mdist_store_left_behind(store_.get(), &id, &goes_on, &error), error);
    return id == 0 ? std::nullopt : std::optional(LeftBehind{id, goes_on != 0});
}

void JobStore::dismiss(uint64_t id) {
    mdist_error_t *error = nullptr;
    require_ok(mdist_store_dismiss(store_.get(), id, &error), error);
}

void JobStore::restart(uint32_t restart) {
    mdist_error_t *error = nullptr;
    require_ok(mdist_store_restart(store_.get(), size_, restart, &error), error);
}

} // namespace mdist
