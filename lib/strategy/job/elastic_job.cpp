// SPDX-License-Identifier: Apache-2.0
// How a job is elastic: it joins, and makes what belongs to one generation.
#include "cluster/config.h"
#include "comm/workers/workers.h"
#include "strategy/job/form.h"
#include "strategy/job/job.h"
#include "util/log.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void Job::join_elastic(const Config &config) {
    const Resolved resolved = resolve(config, process_environment());
    elastic.devices_ = std::make_unique<ElasticDevices>(config);
    elastic.membership_ = join_elastic_job(config, resolved, elastic.settings, elastic.devices_->kind());
    if (!elastic.membership_->is_newcomer()) {
        for (;;) {
            const auto first = elastic.membership_->first(comm.link_settings.timeout_ns);
            if (!first) break;
            try {
                return enter_generation(*first);
            } catch (const Failure &failure) {
                if (!lost_workers(failure)) throw; // it would come again each time
                log_info("elastic: generation ", first->number, " has failed at once: ", failure.message());
                leave_generation();
            }
        }
    }
    elastic.joining_ = true;
    // On the CPU, whatever it works on later: a GPU may not have room for the copies of all replicas.
    std::vector<std::shared_ptr<Device>> devices;
    while (devices.size() < elastic.settings.replicas)
        devices.push_back(make_cpu_device(static_cast<int32_t>(devices.size())));
    comm.begin_generation(elastic.settings.replicas);
    replicas = Replicas(std::move(devices));
    make_team();
    log_info("elastic: this worker is a newcomer");
}

void Job::leave_generation() noexcept {
    comm.leave();
    groups.leave();
}

void Job::enter_generation(const Generation &next) {
    std::unique_ptr<Membership> membership = elastic.membership_->membership();
    std::vector<uint32_t> counts;
    for (const Generation::Member &member : next.members)
        counts.push_back(member.replicas.last - member.replicas.first);
    const uint32_t locals = counts[membership->rank()];
    Replicas theirs(Spans(counts), membership->rank(), elastic.devices_->first(locals));
    comm.begin_generation(locals);
    replicas = std::move(theirs);
    elastic.generation_ = next.number;
    elastic.joining_ = false;
    comm.gather_gpus();
    make_team();
    for (const auto &each : elastic.of_span_)
        if (const auto object = each.lock()) object->span_changed();
    const Spans &spans = replicas.spans();
    if (spans.workers() > 1) {
        try {
            WorkerLinks links = make_links(*membership, comm.link_settings, locals, spans);
            comm.join(std::make_unique<Workers>(std::move(membership), std::move(links), spans));
        } catch (const Failure &failure) {
            if (membership) membership->fail(failure); // the others wait for this worker's links
            throw;
        }
    }
    log_job(replicas, comm.workers());
    use.require_open();
}

} // namespace mdist
