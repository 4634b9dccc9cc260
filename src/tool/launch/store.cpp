// SPDX-License-Identifier: Apache-2.0
#include "launch/store.h"

#include <string>

namespace mdist {

namespace {

/// The settings of an elastic job's store come from the environment, as those of the workers do. Only the numbers of
/// workers come from the command line.
ConfigHandle elastic_config(const JobStoreOptions &options) {
    mdist_error_t *error = nullptr;
    ConfigHandle made = make_config();
    mdist_config_t *const config = made.get();
    require_ok(mdist_config_load_environment(config, &error), error);
    require_ok(mdist_config_set(config, "elastic.min_workers", std::to_string(options.least).c_str(), &error), error);
    require_ok(mdist_config_set(config, "elastic.max_workers", std::to_string(options.size).c_str(), &error), error);
    if (!options.state.empty())
        require_ok(mdist_config_set(config, "elastic.state", options.state.c_str(), &error), error);
    return made;
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
    const ConfigHandle config = options.least != 0 ? elastic_config(options) : nullptr;
    mdist_store_options_t given = {};
    given.struct_size = sizeof given;
    given.worker_count = config ? 0 : size_;
    given.job = options.job.c_str();
    given.secret = options.secret.c_str();
    given.config = config.get();
    require_ok(mdist_store_create(options.address.c_str(), &store, &given, &error), error);
    store_.reset(store);
}

mdist_store_info_t JobStore::now(mdist_error_t **error) const {
    mdist_store_info_t info = {};
    info.struct_size = sizeof info;
    mdist_store_describe(store_.get(), &info, error);
    return info;
}

void JobStore::worker_ended(uint64_t id) {
    mdist_error_t *error = nullptr;
    require_ok(mdist_store_worker_ended(store_.get(), id, &error), error);
}

bool JobStore::ended() const {
    mdist_error_t *error = nullptr;
    const bool ended = now(&error).ended != 0;
    require_ok(mdist_error_status(error), error);
    return ended;
}

bool JobStore::ended_without_commit() const {
    const mdist_store_info_t info = now();
    return info.ended != 0 && info.committed == 0;
}

std::optional<LeftBehind> JobStore::take_left_behind() {
    mdist_error_t *error = nullptr;
    uint64_t id = 0;
    int32_t how = 0;
    require_ok(mdist_store_left_behind(store_.get(), &id, &how, &error), error);
    return id == 0 ? std::nullopt : std::optional(LeftBehind{id, static_cast<mdist_departure_t>(how)});
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
