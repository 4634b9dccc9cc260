// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/replica_group.h"

#include "comm/device/gpu_group.h"
#include "comm/device/nccl_start.h"
#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/consensus.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

void check_ids(const std::vector<uint32_t> &ids, uint32_t replicas) {
    if (ids.empty()) throw invalid("count is 0; a group has at least one replica");
    std::vector<bool> seen(replicas);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= replicas)
            throw invalid(text("replicas[", i, "] is ", ids[i], "; the replicas are 0 to ", replicas - 1));
        if (seen[ids[i]]) throw invalid(text("the list names replica ", ids[i], " twice"));
        seen[ids[i]] = true;
    }
}

} // namespace

std::shared_ptr<ReplicaGroup> ReplicaGroup::create(Job &job, std::vector<uint32_t> ids) {
    job.use.require_open();
    job.require_sound();
    check_ids(ids, job.replicas.count());
    std::shared_ptr<ReplicaGroup> group(new ReplicaGroup(job, GroupLayout::of(std::move(ids), job.replicas.spans())));
    group->agree(job);
    if (group->layout_.ranks.size() > 1) group->link(job);
    group->meet(job);
    job.groups.add(group);
    return group;
}

ReplicaGroup::ReplicaGroup(Job &job, GroupLayout layout)
    : job_(job.shared_from_this()),
      generation_(job.elastic.generation()),
      layout_(std::move(layout)),
      name_(layout_.name()),
      outer_(job.comm.keep_meeting()) {
    for (const uint32_t position : layout_.positions) {
        const uint32_t id = layout_.ids[position];
        if (job.replicas.span_of(job.replicas.worker()).has(id)) locals_.push_back(id - job.replicas.first_id());
    }
}

ReplicaGroup::~ReplicaGroup() {
    if (workers_) workers_->stop_thread(); // it uses the meeting
}

/// Compares the list with those of the other workers.
void ReplicaGroup::agree(Job &job) const {
    Workers *const others = job.other_workers();
    if (others == nullptr) return;
    std::string mine; // in full, unlike name()
    for (const uint32_t id : layout_.ids) mine += text(mine.empty() ? "group {" : ", ", id);
    mine += "}";
    Call call;
    call.kind = &calls::kCreateGroup;
    const Blobs lists = others->gather(call, mine, job.comm.timeout_or_own(0));
    require_same_texts(*others, lists, "all workers must make the same groups, in the same order");
    job.groups
        .drop_unused(); // all workers are here, so none is in an operation of a group that this worker has destroyed
}

void ReplicaGroup::link(Job &job) {
    Workers &others = *job.other_workers();
    WorkerLinks links = make_links(others.membership(), job.comm.link_settings, job.replicas.local_count(),
                                   layout_.spans, &layout_.ranks);
    if (!locals_.empty()) {
        workers_ = std::make_shared<Workers>(others, std::move(links), layout_);
        job.groups.keep(workers_);
    }
    // Nobody may leave the job while others still make their links.
    Call call;
    call.kind = &calls::kCreateGroup;
    call.subject_text = "links, ";
    others.meet(call, job.comm.timeout_or_own(0));
}

void ReplicaGroup::meet(Job &job) {
    if (locals_.empty()) return;
    Group &outer = job.comm.group();
    meeting_ = std::make_unique<Meeting>(static_cast<uint32_t>(locals_.size()), outer.patience(), outer.timeout());
    if (workers_) meeting_->executors.set_members(*workers_);
    if (job.comm.gpus() != nullptr) {
        std::vector<Gpu *> gpus;
        for (const uint32_t local : locals_) gpus.push_back(job.replicas.device(local).gpu());
        gpus_ = std::make_unique<GpuGroup>(std::move(gpus));
        meeting_->executors.set_gpus(*gpus_);
    }
    meeting_->group.join_outer(outer, locals_, name_);
    choose_nccl(job);
}

/// Gives the group communicators of its own, if that is safe. Without them it works, too.
void ReplicaGroup::choose_nccl(const Job &job) {
    if (workers_ || locals_.size() == 1 || !gpus_ || !job.comm.gpus()->uses_nccl()) return;
    std::string obstacle;
    gpus_->set_nccl(start_nccl(&calls::kCreateGroup, meeting_->group, nullptr, gpus_->lanes(),
                               job.comm.timeout_or_own(0), obstacle));
    if (!gpus_->uses_nccl()) log_warn("collectives of ", name_, " on GPU memory do not use NCCL: ", obstacle);
}

uint32_t ReplicaGroup::position_of(uint32_t replica) const {
    const auto found = std::find(layout_.ids.begin(), layout_.ids.end(), replica);
    return found == layout_.ids.end() ? MDIST_NONE : static_cast<uint32_t>(found - layout_.ids.begin());
}

uint32_t ReplicaGroup::party_of(uint32_t local) const {
    const auto found = std::find(locals_.begin(), locals_.end(), local);
    return found == locals_.end() ? MDIST_NONE : static_cast<uint32_t>(found - locals_.begin());
}

Seat ReplicaGroup::seat(uint32_t local) {
    return {meeting_->executors, meeting_->operations, party_of(local), size(), layout_.ids.data()};
}

} // namespace mdist
