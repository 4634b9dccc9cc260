// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/cross.h"

#include "comm/call/check.h"
#include "comm/call/overlap.h"
#include "comm/workers/workers.h"
#include "device/transfer/transfer.h"
#include "strategy/values/cross_gpu.h"
#include "util/dtype.h"
#include "util/fnv.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// Memory for many results on one device. Small ones share blocks, since a thousand would take longer to allocate than
/// to compute: the library keeps large blocks for the next results. A block is freed with the last of its tensors.
class Results {
  public:
    Results(Device &device, const std::vector<std::span<const Tensor>> &many) : device_(device) {
        for (const std::span<const Tensor> tensors : many)
            if (shares(tensors[0].bytes())) to_come_ += round_up(tensors[0].bytes(), kLine);
    }
    Tensor allocate_like(const Tensor &like) {
        if (!shares(like.bytes())) return Tensor::allocate(device_, like.dtype(), like.shape());
        const std::size_t bytes = round_up(like.bytes(), kLine);
        if (bytes > left_) {
            left_ = std::max(std::min(to_come_, kMostOfBlock), bytes);
            block_ = device_.allocate(left_);
            next_ = static_cast<char *>(block_.get());
        }
        left_ -= bytes;
        to_come_ -= bytes;
        return Tensor::view(std::exchange(next_, next_ + bytes), like.dtype(), like.shape(), block_, device_.place());
    }

  private:
    static constexpr std::size_t kLine = 64;
    static constexpr std::size_t kMostOfBlock = std::size_t{4} << 20; // and most that one small result can keep alive

    static bool shares(std::size_t bytes) { return bytes != 0 && bytes <= 262144; }

    Device &device_;
    std::size_t to_come_ = 0; // bytes in blocks
    Memory block_;
    std::size_t left_ = 0; // bytes of the block
    char *next_ = nullptr;
};

/// Performs the local replicas' calls together with those of the other workers.
void perform(Workers &workers, const Asker &asker, std::vector<Call> &calls) {
    const std::string subject = text(asker.subject, asker.subject.empty() ? "" : ", ", calls[0].subject_text);
    std::vector<const Call *> pointers;
    for (Call &call : calls) {
        call.kind = &asker.function->sum;
        call.subject = fnv1a(subject) + call.subject * 31 + asker.detail;
        call.subject_text = subject.c_str();
        pointers.push_back(&call);
    }
    workers.perform(pointers.data(), asker.timeout_ns);
}

/// Reduces on this thread or on the GPU, into the outputs of the first `outputs` replicas.
void reduce_on(Device &device, const Job &job, const std::vector<Call> &calls, std::size_t outputs) {
    const Call &first = calls[0];
    std::vector<const void *> sources(calls.size());
    std::vector<void *> destinations(outputs);
    for (std::size_t b = 0; b < first.buffer_count; ++b) {
        for (std::size_t local = 0; local < calls.size(); ++local) sources[local] = calls[local].inputs[b].data;
        for (std::size_t local = 0; local < outputs; ++local) destinations[local] = calls[local].outputs[b].data;
        device.reduce(operation_of(first, first.inputs[b].dtype, job.replicas.count()), sources.data(), sources.size(),
                      destinations.data(), outputs, first.inputs[b].elements);
    }
    device.finish();
}

/// Reduces into the outputs of the first `outputs` replicas, wherever the buffers lie.
void reduce_pack(Job &job, const Asker &asker, std::vector<Call> &calls, std::size_t outputs) {
    if (Device *const gpu = gpu_for(job, calls, outputs)) return reduce_on(*gpu, job, calls, outputs);
    Workers *const workers = job.workers();
    among_hosts(job, calls, [&](std::vector<Call> &here) {
        workers != nullptr ? perform(*workers, asker, here) : reduce_on(*host(), job, here, outputs);
    });
}

} // namespace

void require_alike(std::span<const Tensor> tensors) {
    for (std::size_t i = 1; i < tensors.size(); ++i)
        if (!(tensors[i].shape() == tensors[0].shape()))
            throw Failure(MDIST_ERR_MISMATCH,
                          text("the tensor of local replica 0 has shape ", tensors[0].shape().text(),
                               " but that of local replica ", i, " ", tensors[i].shape().text(),
                               "; reduce over axes (mdist_strategy_reduce) where "
                               "replicas differ in length"))
                .reason("different_shapes");
}

Tensor reduce_tensors(Job &job, const Asker &asker, int32_t op, std::span<const Tensor> tensors) {
    require_alike(tensors);
    check_op_takes(op, tensors[0].dtype());
    const Asker of_shape = asker.with(text(asker.subject, tensors[0].shape().text()));
    return to_host(reduce_many(job, of_shape, op, {tensors})[0]);
}

std::vector<Tensor> reduce_many(Job &job, const Asker &asker, int32_t op,
                                const std::vector<std::span<const Tensor>> &many) {
    const std::size_t count = many.size();
    const std::size_t locals = many[0].size();
    std::vector<mdist_buffer_t> inputs(locals * count);
    for (std::size_t b = 0; b < count; ++b)
        for (std::size_t local = 0; local < locals; ++local) inputs[local * count + b] = many[b][local].buffer();
    Device *const gpu = job.workers() == nullptr ? gpu_that_reaches(job, inputs) : nullptr;
    Results memory(gpu != nullptr ? *gpu : *host(), many);
    std::vector<Tensor> results;
    results.reserve(count);
    std::vector<mdist_buffer_t> outputs; // the same memory for all local replicas
    for (const std::span<const Tensor> tensors : many) {
        const Tensor &like = tensors.front();
        results.push_back(memory.allocate_like(like));
        outputs.push_back(results.back().buffer());
    }
    std::vector<Call> calls(locals);
    for (std::size_t local = 0; local < locals; ++local)
        calls[local] = call_of(&calls::kAllReduce, op, &inputs[local * count], outputs.data(), count);
    for_packs(calls, asker.packing, asker.function->sum.name(),
              [&](std::vector<Call> &pack) { reduce_pack(job, asker, pack, 1); });
    return results;
}

ValuePointer broadcast_value(Job &job, const Tensor &tensor) {
    std::vector<Tensor> copies;
    for (uint32_t local = 0; local < job.reach.view().replicas; ++local)
        copies.push_back(copied_to(job.reach.place(local), tensor));
    return Value::mirrored(std::move(copies));
}

void all_reduce_local(Job &job, const Asker &asker, const Call &all, std::size_t buffer_count) {
    const uint32_t replicas = job.reach.view().replicas;
    std::vector<Call> calls(replicas);
    for (uint32_t local = 0; local < replicas; ++local) {
        calls[local] = call_of(&calls::kAllReduce, all.op, all.inputs + local * buffer_count,
                               all.outputs + local * buffer_count, buffer_count);
        calls[local].by = all.by;
        calls[local].subject = all.subject;
        calls[local].subject_text = all.subject_text;
        check_call(calls[local], replicas);
        if (!same_call(calls[0], calls[local]))
            throw Failure(MDIST_ERR_MISMATCH, text("the buffers of local replica 0 are ", call_text(calls[0]),
                                                   " and those of local replica ", local, " ", call_text(calls[local]),
                                                   difference_text(calls[0], calls[local])))
                .reason("different_calls");
    }
    if (replicas > 1) check_overlap_among(calls);
    for_packs(calls, asker.packing, asker.function->sum.name(),
              [&](std::vector<Call> &pack) { reduce_pack(job, asker, pack, pack.size()); });
}

std::vector<ValuePointer> all_reduce_many(Job &job, const Asker &asker, int32_t op,
                                          const std::vector<std::span<const Tensor>> &many) {
    const std::size_t count = many.size();
    const std::size_t locals = many[0].size();
    std::vector<mdist_buffer_t> inputs(locals * count), outputs(locals * count);
    std::vector<Results> memory; // by local replica
    for (uint32_t local = 0; local < locals; ++local) memory.emplace_back(job.reach.place(local), many);
    std::vector<ValuePointer> results;
    results.reserve(count);
    for (std::size_t b = 0; b < count; ++b) {
        std::vector<Tensor> made;
        made.reserve(locals);
        for (std::size_t local = 0; local < locals; ++local) {
            const Tensor &from = many[b][local];
            made.push_back(memory[local].allocate_like(from));
            inputs[local * count + b] = from.buffer();
            outputs[local * count + b] = made.back().buffer();
        }
        results.push_back(Value::mirrored(std::move(made)));
    }
    std::vector<Call> calls;
    for (std::size_t local = 0; local < locals; ++local)
        calls.push_back(call_of(&calls::kAllReduce, op, &inputs[local * count], &outputs[local * count], count));
    for_packs(calls, asker.packing, asker.function->sum.name(),
              [&](std::vector<Call> &pack) { reduce_pack(job, asker, pack, pack.size()); });
    return results;
}

} // namespace mdist
