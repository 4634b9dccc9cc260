// SPDX-License-Identifier: Apache-2.0
// The generations of an elastic job: joins the job, and makes what belongs to one generation.
#include "strategy/job/form.h"

#include "cluster/config.h"
#include "comm/device/gpu_group.h"
#include "comm/mail/mail.h"
#include "comm/workers/workers.h"
#include "strategy/job/elastic_devices.h"
#include "strategy/job/job.h"
#include "strategy/job/replica_group.h"
#include "util/log.h"
#include "util/text.h"

#include <utility>

namespace mdist {

bool lost_workers(const Failure &failure) {
    const mdist_status_t status = failure.status();
    return status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_TIMEOUT ||
           (status == MDIST_ERR_ABORTED && failure.reason() != "destroyed");
}

void Job::join_elastic(const Config &config) {
    const Resolved resolved = resolve(config, process_environment());
    elastic_devices_ = std::make_unique<ElasticDevices>(config);
    elastic_membership_ = join_elastic_job(config, resolved, elastic_, elastic_devices_->kind());
    if (!elastic_membership_->is_newcomer()) {
        for (;;) {
            const auto first = elastic_membership_->first(link_settings_.timeout_ns);
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
    joining_ = true;
    spans_ = Spans::even(1, elastic_.replicas);
    // On the CPU, whatever it works on later: a GPU may not have room for the copies of all replicas.
    for (uint32_t i = 0; i < elastic_.replicas; ++i) devices_.push_back(make_cpu_device(static_cast<int32_t>(i)));
    meeting_ = std::make_shared<MeetingPlace>(local_replica_count(), group().timeout(), group().call_timeout());
    make_team();
    log_info("elastic: this worker is a newcomer");
}

void Job::add(const std::shared_ptr<OfSpan> &object) {
    if (!elastic_.on()) return;
    const std::lock_guard lock(groups_mutex_);
    std::erase_if(of_span_, [](const auto &each) { return each.expired(); });
    of_span_.push_back(object);
}

void Job::leave_generation() noexcept {
    meeting_->mail->leave();
    if (workers_) workers_->leave(); // from here on nobody calls meeting_
    {
        const std::lock_guard lock(groups_mutex_);
        for (const auto &workers : group_workers_) workers->leave();
        group_workers_.clear();
        groups_.clear();
        has_groups_.store(false, std::memory_order_release);
    }
}

void Job::enter_generation(const Generation &next) {
    std::unique_ptr<Membership> membership = elastic_membership_->membership();
    std::vector<uint32_t> counts;
    for (const Generation::Member &member : next.members)
        counts.push_back(member.replicas.last - member.replicas.first);
    std::vector<std::shared_ptr<Device>> devices = elastic_devices_->first(counts[membership->rank()]);
    Spans spans(counts);
    auto meeting = std::make_shared<MeetingPlace>(counts[membership->rank()], group().timeout(),
                                                  group().call_timeout()); // or nothing changes
    {
        const std::lock_guard lock(meeting_mutex_);
        meeting_->executors.let_go(); // works and groups may keep it
    }
    gpus_.reset(); // waits for what a failed collective has left to its lanes
    {
        const std::lock_guard lock(meeting_mutex_);
        team_.reset();
        worker_ = membership->rank();
        spans_ = std::move(spans);
        devices_ = std::move(devices);
        meeting_ = std::move(meeting);
        workers_.reset();
        generation_ = next.number;
        joining_ = false;
    }
    gather_gpus();
    make_team();
    for (const auto &each : of_span_)
        if (const auto object = each.lock()) object->span_changed();
    if (spans_.workers() > 1) {
        try {
            WorkerLinks links = make_links(*membership, link_settings_, local_replica_count(), spans_);
            auto workers = std::make_unique<Workers>(std::move(membership), std::move(links), spans_);
            const std::lock_guard lock(meeting_mutex_);
            workers_ = std::move(workers);
        } catch (const Failure &failure) {
            if (membership) membership->fail(failure); // the others wait for this worker's links
            throw;
        }
        watch_workers();
    }
    log_job(*this, workers_.get());
    if (closed_) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the strategy was destroyed").reason("destroyed");
}

} // namespace mdist
