// SPDX-License-Identifier: Apache-2.0
#include "launch/store.h"

#include <vector>

namespace mdist {

JobStore::JobStore(const JobStoreOptions &options) : size_(options.size) {
    mdist_store_t *store = nullptr;
    mdist_error_t *error = nullptr;
    const char *secret = options.secret.empty() ? nullptr : options.secret.c_str();
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

void JobStore::restart(uint32_t restart) {
    mdist_error_t *error = nullptr;
    require_ok(mdist_store_restart(store_.get(), size_, restart, &error), error);
}

} // namespace mdist
