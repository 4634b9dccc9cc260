// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/job.h"

#include "cluster/config.h"
#include "comm/workers/workers.h"
#include "strategy/job/devices.h"
#include "strategy/job/form.h"
#include "util/cpus.h"
#include "util/text.h"

#include <utility>

namespace mdist {

Job::Job(const Config &config)
    : elastic(config),
      replicas(elastic.on() ? std::vector<std::shared_ptr<Device>>() : open_devices(config)),
      reach(*this, replicas, config),
      comm(config, replicas),
      concurrent_(config.text("executor") == "threads") {
    if (elastic.on()) {
        join_elastic(config);
    } else {
        make_team();
        join(config);
    }
}

/// Joins the other workers, if there are any.
void Job::join(const Config &config) {
    const Resolved resolved = resolve(config, process_environment());
    comm.gather_gpus();
    comm.choose_reducer(config, resolved.size);
    if (resolved.size > 1) {
        auto workers =
            join_workers(config, resolved, replicas.local_count(), replicas.device(0).kind(), comm.link_settings);
        replicas = Replicas(workers->spans(), workers->self(), replicas.devices());
        comm.join(std::move(workers));
    }
    comm.choose_nccl(config);
    if (reach.in_graph()) reach.learn_names(other_workers(), comm.timeout_or_own(0));
    log_job(replicas, comm.workers());
}

void Job::make_team() {
    team_.reset();
    const uint32_t threads = concurrent_ ? replicas.local_count() : 1;
    team_ = std::make_unique<Team>(threads, Patience::for_threads(threads, usable_cpus()));
}

void Job::require_sound() const {
    if (elastic.joining())
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            "this worker is a newcomer to a job that is at work, and has not entered it yet. Create everything "
            "that the job has, then call mdist_regroup")
            .reason("joining");
    const Group &group = comm.group();
    if (group.failed()) throw group.ended(false);
}

Workers *Job::workers() {
    Workers *const others = other_workers();
    return reach.view().workers == 1 ? nullptr : others;
}

Workers *Job::other_workers() {
    if (replicas.worker_count() == 1) return nullptr;
    use.require_open();
    require_sound();
    return comm.workers();
}

void Job::stop_if_over() noexcept {
    if (!use.is_over()) return;
    const std::unique_ptr<Team> team = std::move(team_); // null if a regroup had no threads for one
    comm.leave();
    groups.leave();
    if (elastic.membership() != nullptr) elastic.membership()->leave();
    stopped();
}

} // namespace mdist
