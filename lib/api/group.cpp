// SPDX-License-Identifier: Apache-2.0
#include "api/group_seat.h"
#include "device/gpu/gpu.h"
#include "strategy/job/context.h"
#include "util/text.h"

#include <mdist/group.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace mdist {
namespace {

/// The strategy uses NCCL if the options ask for it: timeout_of() has checked that.
void check_implementation(const ReplicaGroup &group, int32_t implementation) {
    if (implementation == MDIST_IMPLEMENTATION_NCCL && !group.uses_nccl())
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text("options.implementation is MDIST_IMPLEMENTATION_NCCL (2), but ", group.name(),
                           " does not use NCCL, as only groups of several replicas of one worker do. Use "
                           "MDIST_IMPLEMENTATION_AUTO (0)"))
            .reason("no_nccl");
    if (implementation == MDIST_IMPLEMENTATION_RING && group.uses_nccl())
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text("options.implementation is MDIST_IMPLEMENTATION_RING (1), but ", group.name(),
                           " uses NCCL. To use ring for all collectives, set the key communication.implementation to "
                           "ring"));
}

} // namespace

Others others_in(const mdist_call_options_t *options) {
    constexpr std::size_t kSize = offsetof(mdist_call_options_t, group) + sizeof options->group;
    const bool all = options == nullptr || options->struct_size < kSize || options->group == nullptr;
    return all ? Others::kMeet : Others::kWait;
}

GroupSeat seat_of(Job &job, uint32_t local, const mdist_call_options_t *options) {
    if (others_in(options) == Others::kMeet) return {nullptr, seat_among_all(job, local)};
    std::shared_ptr<ReplicaGroup> group = pin(options->group).shared();
    if (&group->job() != &job)
        throw invalid(
            text("options.group is ", group->name(), ", which belongs to another strategy; pass a group of this one"));
    job.elastic.require_generation(group->generation(), "options.group");
    if (!group->has(local)) {
        const uint32_t id = job.replicas.first_id() + local;
        throw invalid(
            text("replica ", id, " is not a member of ", group->name(), "; only members call a collective of a group"))
            .replica(id);
    }
    check_implementation(*group, options->implementation);
    const Seat seat = group->seat(local);
    return {std::move(group), seat};
}

GroupSeat seat_of(Replica &replica, const mdist_call_options_t *options) {
    GroupSeat place = seat_of(replica.job(), replica.local_index(), options);
    place.require_running(replica);
    return place;
}

void GroupSeat::require_running(const Replica &replica) const {
    if (!group) return;
    if (Gpu *const gpu = replica.device().gpu()) gpu->replica_stream().require_running("a collective of a group");
}

void GroupSeat::place(Call &call) const {
    call.ids = seat.ids;
    if (!group || !call.kind->traits().has_root) return;
    const uint32_t position = group->position_of(call.root);
    if (position == MDIST_NONE)
        throw invalid(text("root is replica ", call.root, ", which is not a member of ", group->name()));
    call.root = position;
}

void GroupSeat::await_turn(Replica &replica, const char *function) const {
    if (!group) return replica.await_turn(function);
    replica.require_concurrent(function);
    seat.operations.await_turn(seat.party);
}

} // namespace mdist

using namespace mdist;

mdist_status_t mdist_group_create(mdist_strategy_t *strategy, const uint32_t *replicas, size_t count,
                                  mdist_group_t **out, mdist_error_t **error) {
    return shared_call_guard(
        "mdist_group_create", strategy, "it before the run", error, [&](Strategy &self, bool &others_wait) {
            others_wait = false; // the servers of an in-graph job do not call this
            self.reach.require_no_commands("mdist_group_create",
                                           "its replicas have no groups; use strategy: multi_worker");
            others_wait = true;
            need_array(replicas, count, "replicas");
            need(out, "out");
            *out =
                publish<mdist_group_t>(ReplicaGroup::create(self, std::vector<uint32_t>(replicas, replicas + count)));
        });
}

uint32_t mdist_group_size(const mdist_group_t *group) {
    const auto pinned = try_pin(group);
    return pinned ? pinned->size() : 0;
}

uint32_t mdist_group_position(const mdist_group_t *group, uint32_t replica) {
    const auto pinned = try_pin(group);
    return pinned ? pinned->position_of(replica) : MDIST_NONE;
}

void mdist_group_destroy(mdist_group_t *group) {
    give_up(group);
}
