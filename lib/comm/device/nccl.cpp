// SPDX-License-Identifier: Apache-2.0
#include "comm/device/nccl.h"

#include "comm/group.h"
#include "comm/workers.h"
#include "util/dtype.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

char *at(const mdist_buffer_t &buffer, uint64_t element) {
    return static_cast<char *>(buffer.data) + element * dtype_size(buffer.dtype);
}

/// What NCCL is asked for: its mean rounds each term.
int32_t nccl_op(const Call &call) {
    return call.op == MDIST_MEAN ? MDIST_SUM : call.op;
}

bool even(const joint::Parts &parts, std::size_t b, uint32_t replicas) {
    for (uint32_t replica = 1; replica < replicas; ++replica)
        if (parts.length(replica, b) != parts.length(0, b)) return false;
    return true;
}

} // namespace

/// All workers make the same call, whose pieces add up.
joint::Parts Nccl::agree(Group &group, const Call *const *calls, uint64_t timeout_ns) const {
    const std::vector<uint64_t> table = joint::Parts::table_of(calls, gpus_.parties());
    const std::size_t bytes = table.size() * sizeof(uint64_t);
    Workers::Blobs tables(1);
    if (Workers *const workers = group.workers()) {
        tables = workers->gather(*calls[0], table.data(), bytes, timeout_ns);
    } else {
        tables[0].resize(bytes);
        if (bytes != 0) std::memcpy(tables[0].data(), table.data(), bytes);
    }
    joint::Parts parts(tables, gpus_.parties(), calls[0]->buffer_count);
    const bool pieces =
        gathers(calls[0]->kind) || calls[0]->kind == CallKind::kReduceScatter || calls[0]->kind == CallKind::kScatter;
    if (pieces) parts.check(*calls[0]);
    return parts;
}

void Nccl::perform(Group &group, const Call *const *calls, uint64_t timeout_ns) {
    const joint::Parts parts = agree(group, calls, timeout_ns);
    try {
        give_all(calls, parts, timeout_ns);
    } catch (const Failure &failure) {
        group.fail(failure); // for ever: the communicators are gone
        throw;
    }
}

void Nccl::give_all(const Call *const *calls, const joint::Parts &parts, uint64_t timeout_ns) {
    const auto all = [&] {
        for (uint32_t party = 0; party < gpus_.parties(); ++party)
            for (std::size_t b = 0; b < calls[party]->buffer_count; ++b) give(party, *calls[party], b, parts);
    };
    if (pattern_of(*calls[0]) != Pattern::kMeet) comms_->issue(all, call_name(calls[0]->kind), timeout_ns);
    try {
        for (const auto &lane : gpus_.lanes()) lane->launch(); // what a replica keeps for itself, or a graph
        for (uint32_t party = 0; party < gpus_.parties() && calls[0]->op == MDIST_MEAN; ++party)
            divide(party, *calls[party]);
    } catch (...) {
        abandon(); // other GPUs may wait for one that has failed
        throw;
    }
}

void Nccl::watch(const Marks &marks, const Call &call, uint64_t timeout_ns) {
    comms_->watch(marks, call_name(call.kind), timeout_ns);
}

void Nccl::give(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts) {
    const mdist_buffer_t &in = call.inputs[b];
    const mdist_buffer_t &out = call.outputs[b];
    const mdist_nccl_api &api = comms_->api();
    mdist_gpu_comm *const comm = comms_->comm(party);
    mdist_gpu_stream *const stream = gpus_.lane_of(party).stream();
    const auto root = static_cast<int32_t>(call.root);
    switch (pattern_of(call)) {
        case Pattern::kReduce:
            if (in.elements != 0)
                comms_->check(api.all_reduce(comm, in.data, out.data, in.elements, in.dtype, nccl_op(call), stream),
                              "all-reduce");
            return;
        case Pattern::kBroadcast:
            if (in.elements != 0)
                comms_->check(api.broadcast(comm, in.data, out.data, in.elements, in.dtype, root, stream), "broadcast");
            return;
        case Pattern::kScatter:
            if (call.kind == CallKind::kReduceScatter) return give_reduce_scatter(party, call, b, parts);
            if (in.elements != 0)
                comms_->check(api.reduce(comm, in.data, out.data, in.elements, in.dtype, nccl_op(call), root, stream),
                              "reduce");
            return;
        case Pattern::kGather:
        case Pattern::kToRoot:
            return give_gather(party, call, b, parts);
        case Pattern::kFromRoot:
            return give_scatter(party, call, b, parts);
        case Pattern::kTranspose:
            return give_transpose(party, in, out);
        case Pattern::kMeet:
            return;
    }
}

/// A replica's piece for itself is copied.
void Nccl::send(uint32_t party, uint32_t to, const mdist_buffer_t &from, uint64_t begin, uint64_t elements) {
    if (elements == 0 || to == first_ + party) return;
    comms_->check(comms_->api().send(comms_->comm(party), at(from, begin), elements, from.dtype,
                                     static_cast<int32_t>(to), gpus_.lane_of(party).stream()),
                  "send");
}

void Nccl::receive(uint32_t party, uint32_t from, const mdist_buffer_t &to, uint64_t begin, uint64_t elements) {
    if (elements == 0 || from == first_ + party) return;
    comms_->check(comms_->api().receive(comms_->comm(party), at(to, begin), elements, to.dtype,
                                        static_cast<int32_t>(from), gpus_.lane_of(party).stream()),
                  "receive");
}

void Nccl::give_gather(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts) {
    const mdist_buffer_t &in = call.inputs[b];
    const mdist_buffer_t &out = call.outputs[b];
    const uint32_t self = first_ + party;
    Lane &lane = gpus_.lane_of(party);
    const bool rooted = call.kind == CallKind::kGatherToRoot;
    if (!rooted && even(parts, b, replicas_)) {
        if (in.elements == 0) return;
        comms_->check(
            comms_->api().all_gather(comms_->comm(party), in.data, out.data, in.elements, in.dtype, lane.stream()),
            "all-gather");
        return;
    }
    for (uint32_t other = 0; other < replicas_; ++other) {
        if (!rooted || other == call.root) send(party, other, in, 0, in.elements);
        if (!rooted || self == call.root) receive(party, other, out, parts.offset(other, b), parts.length(other, b));
    }
    if (!rooted || self == call.root)
        lane.copy(at(out, parts.offset(self, b)), in.data, in.elements * dtype_size(in.dtype));
}

void Nccl::give_scatter(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts) {
    const mdist_buffer_t &in = call.inputs[b];
    const mdist_buffer_t &out = call.outputs[b];
    if (first_ + party != call.root) return receive(party, call.root, out, 0, out.elements);
    for (uint32_t other = 0; other < replicas_; ++other)
        send(party, other, in, parts.offset(other, b), parts.length(other, b));
    gpus_.lane_of(party).copy(out.data, at(in, parts.offset(call.root, b)), out.elements * dtype_size(out.dtype));
}

void Nccl::give_reduce_scatter(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts) {
    const mdist_buffer_t &in = call.inputs[b];
    const mdist_buffer_t &out = call.outputs[b];
    mdist_gpu_stream *const stream = gpus_.lane_of(party).stream();
    if (even(parts, b, replicas_)) {
        if (out.elements == 0) return;
        comms_->check(comms_->api().reduce_scatter(comms_->comm(party), in.data, out.data, out.elements, in.dtype,
                                                   nccl_op(call), stream),
                      "reduce-scatter");
        return;
    }
    for (uint32_t root = 0; root < replicas_; ++root) {
        if (parts.length(root, b) == 0) continue;
        void *const result = root == first_ + party ? out.data : nullptr;
        comms_->check(
            comms_->api().reduce(comms_->comm(party), at(in, parts.offset(root, b)), result, parts.length(root, b),
                                 in.dtype, nccl_op(call), static_cast<int32_t>(root), stream),
            "reduce");
    }
}

void Nccl::give_transpose(uint32_t party, const mdist_buffer_t &in, const mdist_buffer_t &out) {
    const uint64_t part = in.elements / replicas_;
    const uint32_t self = first_ + party;
    for (uint32_t other = 0; other < replicas_; ++other) {
        send(party, other, in, other * part, part);
        receive(party, other, out, other * part, part);
    }
    gpus_.lane_of(party).copy(at(out, self * part), at(in, self * part), part * dtype_size(in.dtype));
}

/// Sums become means.
void Nccl::divide(uint32_t party, const Call &call) {
    Lane &lane = gpus_.lane_of(party);
    const PhysicalGpu &gpu = lane.gpu();
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const mdist_buffer_t &out = call.outputs[b];
        if (out.elements == 0) continue;
        gpu.check(gpu.api().divide(gpu.index(), out.dtype, out.data, replicas_, out.elements, lane.stream()),
                  "dividing sums");
    }
}

} // namespace mdist
