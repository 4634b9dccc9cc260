// SPDX-License-Identifier: Apache-2.0
#include "membership/elastic/elastic_store_service.h"

#include "membership/address.h"
#include "membership/secret.h"

namespace mdist {

ElasticStoreService::ElasticStoreService(const std::string &address, const ElasticStoreOptions &options,
                                         uint64_t resolve_timeout_ns)
    : reactor_([] {}), stop_first_{reactor_} {
    check_secret(options.secret);
    const Endpoint named = split_address(address);
    const Endpoint bound = reactor_.listen_at(resolve(named, resolve_timeout_ns).front());
    address_ = text_of({named.host, bound.port});
    store_ = std::make_unique<ElasticStore>(reactor_, options);
    reactor_.start(*store_, "mdist-store");
}

std::string ElasticStoreService::progress(uint32_t *joined) {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    if (joined != nullptr) *joined = store_->connected();
    return store_->progress();
}

void ElasticStoreService::worker_ended(WorkerId id) {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    store_->reaped(id);
    reactor_.wake();
}

std::optional<ElasticStore::LeftBehind> ElasticStoreService::take_left_behind() {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    return store_->take_left_behind();
}

void ElasticStoreService::dismiss(WorkerId id) {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    store_->dismiss(id);
    reactor_.wake();
}

} // namespace mdist
