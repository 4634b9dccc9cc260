// SPDX-License-Identifier: Apache-2.0
#include "membership/store/store_service.h"

#include <utility>

#include "membership/net/address.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

StoreService::StoreService(const std::string &address, const std::string &secret, uint64_t resolve_timeout_ns)
    : reactor_([] {}), stop_first_{reactor_} {
    check_secret(secret);
    const Endpoint named = split_address(address);
    endpoint_ = reactor_.listen_at(resolve(named, resolve_timeout_ns).front());
    address_ = text_of({named.host, endpoint_.port});
}

StoreService::StoreService(const std::string &address, const FixedStoreOptions &options, uint64_t resolve_timeout_ns)
    : StoreService(address, options.secret, resolve_timeout_ns) {
    auto store = std::make_unique<FixedStore>(reactor_, options);
    fixed_ = store.get();
    store_ = std::move(store);
    reactor_.start(*store_, "mdist-store");
}

StoreService::StoreService(const std::string &address, ElasticStoreOptions options, const std::string &state,
                           uint64_t resolve_timeout_ns)
    : StoreService(address, options.secret, resolve_timeout_ns) {
    if (!state.empty()) {
        if (split_address(address).port == 0)
            throw Failure(MDIST_ERR_CONFIG, text("the store is to listen at ", address,
                                                 ", at any port, and to keep its state. One that comes back must have "
                                                 "the port that its workers know; name one"))
                .reason("bad_address");
        state_ = std::make_unique<StateFile>(state);
        options.kept = state_->read();
        options.keep = [this](const std::string &bytes) { state_->keep(bytes); };
    }
    auto store = std::make_unique<ElasticStore>(reactor_, std::move(options));
    elastic_ = store.get();
    store_ = std::move(store);
    reactor_.start(*store_, "mdist-store");
}

StoreState StoreService::state() {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    return {store_->joined(), store_->progress(), fixed_ != nullptr ? fixed_->first_gone() : MDIST_NONE,
            elastic_ != nullptr && elastic_->knows_of_commit(),
            elastic_ != nullptr ? elastic_->failure() : std::nullopt};
}

} // namespace mdist
