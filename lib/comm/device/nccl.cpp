// SPDX-License-Identifier: Apache-2.0
#include "comm/device/nccl.h"

#include "comm/call/buffers.h"
#include "comm/local/group.h"
#include "comm/workers/workers.h"
#include "util/dtype.h"

#include <optional>
#include <vector>

namespace mdist {
namespace {

/// The operation to ask NCCL for. NCCL's own mean rounds each term, so MEAN asks for the sum.
int32_t nccl_op(const Call &call) {
    return call.op == MDIST_MEAN ? MDIST_SUM : call.op;
}

/// Whether one NCCL call does all moves of a buffer.
bool is_joined(const Call &call, std::size_t b, const Lengths &lengths) {
    const Pattern pattern = call.kind->pattern();
    if (pattern != Pattern::kGather && pattern != Pattern::kReduceScatter) return false;
    for (uint32_t replica = 1; replica < lengths.replicas(); ++replica)
        if (lengths.piece(replica, b) != lengths.piece(0, b)) return false;
    return true;
}

} // namespace

bool Nccl::takes(const Call &call) {
    if (call.op == 0) return true;
    if (call.op > MDIST_PROD) return false;
    for (std::size_t b = 0; call.inputs != nullptr && b < call.buffer_count; ++b)
        if (call.inputs[b].dtype > MDIST_UINT64) return false;
    return true;
}

/// Makes sure that all workers make the same call, and that its pieces add up.
std::unique_ptr<Lengths> Nccl::agree(Workers *workers, const Call *const *calls, uint64_t timeout_ns) const {
    if (workers == nullptr) return std::make_unique<CallLengths>(Calls(calls, sizeof *calls, lanes_.parties()));
    if (calls[0]->kind->traits().tells_lengths)
        return std::make_unique<ToldLengths>(workers->tell_lengths(calls, timeout_ns));
    workers->meet(*calls[0], timeout_ns);
    return std::make_unique<CallLengths>(Calls(calls, 0, replicas_)); // one call stands for all
}

void Nccl::perform(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    const std::unique_ptr<Lengths> lengths = agree(workers, calls, timeout_ns);
    try {
        give_all(group, calls, Plan(*calls[0], *lengths), timeout_ns);
    } catch (const Failure &failure) {
        group.fail(failure); // for good: the communicators are gone
        throw;
    }
}

void Nccl::give_all(const Group &group, const Call *const *calls, const Plan &plan, uint64_t timeout_ns) {
    std::vector<bool> joined; // by buffer; the same on all replicas
    for (std::size_t b = 0; b < calls[0]->buffer_count; ++b) joined.push_back(is_joined(*calls[0], b, plan.lengths()));
    const auto all = [&] {
        for (uint32_t party = 0; party < lanes_.parties(); ++party) {
            const Call &call = *calls[party];
            for (std::size_t b = 0; b < call.buffer_count; ++b)
                if (joined[b]) give_joined(party, call, b);
            plan.each_move_of({first_ + party, first_ + party + 1}, [&](const Move &move) {
                if (move.elements != 0 && !joined[move.buffer]) give(party, call, move);
            });
        }
    };
    const Pattern pattern = calls[0]->kind->pattern();
    std::optional<NcclUse::Turn> turn; // recorded work has its turn when the graphs are launched
    if (pattern != Pattern::kMeet && !calls[0]->recorded) turn.emplace(*use_, timeout_ns);
    if (pattern != Pattern::kMeet && pattern != Pattern::kLaunch)
        comms_->issue(all, calls[0]->kind->name(), timeout_ns);
    try {
        if (pattern == Pattern::kLaunch && lanes_.all().size() > 1)
            launch_graphs(group, timeout_ns);
        else
            for (const auto &lane : lanes_.all()) lane->launch(); // copies within a replica, or a graph
        for (uint32_t party = 0; party < lanes_.parties() && calls[0]->op == MDIST_MEAN; ++party)
            divide(party, *calls[party]);
        if (turn) turn->mark();
    } catch (...) {
        abandon(); // other GPUs may wait for one that has failed; another strategy's next work would not wait for this
        throw;
    }
}

void Nccl::launch_graphs(const Group &group, uint64_t timeout_ns) {
    launches_.run(
        lanes_.all(), timeout_ns, [&group] { return group.failed(); }, [this] { abandon(); });
}

void Nccl::watch(const Marks &marks, const Call &call, uint64_t timeout_ns) {
    comms_->watch(marks, call.kind->name(), timeout_ns);
}

void Nccl::give_joined(uint32_t party, const Call &call, std::size_t b) {
    const mdist_buffer_t &in = call.inputs[b];
    const mdist_buffer_t &out = call.outputs[b];
    mdist_gpu_comm *const comm = comms_->comm(party);
    mdist_gpu_stream *const stream = lanes_.lane_of(party).stream();
    if (in.elements == 0) return;
    if (call.kind->traits().joins)
        comms_->check(comms_->api().all_gather(comm, in.data, out.data, in.elements, in.dtype, stream), "all-gather");
    else
        comms_->check(
            comms_->api().reduce_scatter(comm, in.data, out.data, out.elements, in.dtype, nccl_op(call), stream),
            "reduce-scatter");
}

void Nccl::give(uint32_t party, const Call &call, const Move &move) {
    move.sums() ? give_sum(party, call, move) : give_copy(party, call, move);
}

void Nccl::give_sum(uint32_t party, const Call &call, const Move &move) {
    const mdist_nccl_api &api = comms_->api();
    mdist_gpu_comm *const comm = comms_->comm(party);
    mdist_gpu_stream *const stream = lanes_.lane_of(party).stream();
    const mdist_buffer_t &in = call.inputs[move.buffer];
    const void *const from = at(in, move.input_begin);
    const bool takes = move.to == Move::kAll || move.to == first_ + party;
    void *const to = takes ? at(call.outputs[move.buffer], move.output_begin) : nullptr;
    if (move.to == Move::kAll)
        comms_->check(api.all_reduce(comm, from, to, move.elements, in.dtype, nccl_op(call), stream), "all-reduce");
    else
        comms_->check(
            api.reduce(comm, from, to, move.elements, in.dtype, nccl_op(call), static_cast<int32_t>(move.to), stream),
            "reduce");
}

void Nccl::give_copy(uint32_t party, const Call &call, const Move &move) {
    const mdist_nccl_api &api = comms_->api();
    mdist_gpu_comm *const comm = comms_->comm(party);
    Lane &lane = lanes_.lane_of(party);
    const uint32_t self = first_ + party;
    const int32_t dtype = call.inputs[move.buffer].dtype;
    const bool gives = move.from == self;
    const bool takes = move.to == Move::kAll || move.to == self;
    const void *const from = gives ? at(call.inputs[move.buffer], move.input_begin) : nullptr;
    void *const to = takes ? at(call.outputs[move.buffer], move.output_begin) : nullptr;
    if (move.to == Move::kAll)
        comms_->check(api.broadcast(comm, gives ? from : to, to, move.elements, dtype, static_cast<int32_t>(move.from),
                                    lane.stream()),
                      "broadcast");
    else if (gives && takes)
        lane.copy(to, from, move.elements * dtype_size(dtype));
    else if (gives)
        comms_->check(api.send(comm, from, move.elements, dtype, static_cast<int32_t>(move.to), lane.stream()), "send");
    else
        comms_->check(api.receive(comm, to, move.elements, dtype, static_cast<int32_t>(move.from), lane.stream()),
                      "receive");
}

/// Turns sums into means.
void Nccl::divide(uint32_t party, const Call &call) {
    Lane &lane = lanes_.lane_of(party);
    const PhysicalGpu &gpu = lane.gpu();
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const mdist_buffer_t &out = call.outputs[b];
        if (out.elements == 0) continue;
        gpu.check(gpu.api().divide(gpu.index(), out.dtype, out.data, replicas_, out.elements, lane.stream()),
                  "dividing sums");
    }
}

} // namespace mdist
