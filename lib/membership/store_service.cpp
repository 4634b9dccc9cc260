// SPDX-License-Identifier: Apache-2.0
#include "membership/store_service.h"

#include "membership/address.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
StoreService::StoreService(const std::string &address, const StoreOptions &options, uint64_t resolve_timeout_ns)
    : reactor_([] {}), stop_first_{reactor_}, restart_(options.restart) {
    check_secret(options.secret);
    const Endpoint named = split_address(address);
    endpoint_ = reactor_.listen_at(resolve(named, resolve_timeout_ns).front());
    address_ = text_of({named.host, endpoint_.port});
    store_ = std::make_unique<Store>(reactor_, options);
    reactor_.start(*store_, "mdist-store");
}

void StoreService::restart(uint32_t size, uint32_t restart) {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    if (restart <= restart_) throw invalid(text("restart is ", restart, ", which must be more than ", restart_));
    restart_ = restart;
    store_->restart(size, restart);
    reactor_.wake();
}

uint32_t StoreService::first_gone() {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    return store_->first_gone();
}

std::string StoreService::progress(uint32_t *joined) {
    const std::lock_guard<std::mutex> hold(reactor_.lock());
    if (joined != nullptr) *joined = store_->joined();
    return store_->progress();
}

} // namespace mdist
