// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.h"

#include "strategy/serve/session.h"

#include <utility>

namespace mdist {

Strategy::Strategy(const Config &config)
    : Job(config),
      variables_(std::make_shared<VariableStore>(replicas.devices(), comm.shared_memory())),
      inputs_(config) {
    if (elastic.on()) elastic_part_ = std::make_unique<Elastic>(*this, *variables_, runs_, graphs_);
    if (!reach.in_graph()) return;
    session_ = std::make_unique<Session>(runs_, variables_, registry_);
    variables_->commands = session_.get();
}

Strategy::~Strategy() = default;

void Strategy::merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
                     uint64_t timeout_ns) {
    replica.await_all("mdist_merge_call");
    if (replica.entered)
        open_runs_.merge(replica, merge, std::move(arguments), result_count, timeout_ns);
    else
        runs_.merge(replica, merge, std::move(arguments), result_count, timeout_ns);
}

void Strategy::close() noexcept {
    // A thread that has the turn stops the job when it is done.
    if (use.close()) comm.abort("the strategy was destroyed", "destroyed");
    open_runs_.close();
    stop_if_over();
}

/// Drops the replicas' handles, which keep the strategy alive.
void Strategy::stopped() noexcept {
    runs_.drop_attachments();
}

} // namespace mdist
