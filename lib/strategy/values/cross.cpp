// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/cross.h"

#include "comm/call.h"
#include "comm/collectives.h"
#include "comm/overlap.h"
#include "comm/workers.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/dtype.h"
#include "util/text.h"

#include <atomic>
#include <functional>
#include <new>
#include <utility>

namespace mdist {
namespace {

/// The local replicas' calls, together with those of the other workers.
void perform(Workers &workers, const Asker &asker, std::vector<Call> &calls) {
    const std::string subject = asker.subject.empty() ? "" : asker.subject + ", ";
    std::vector<const Call *> pointers;
    for (Call &call : calls) {
        call.kind = asker.kind;
        call.subject = std::hash<std::string>()(subject) + asker.detail;
        call.subject_text = subject.c_str();
        pointers.push_back(&call);
    }
    workers.perform(pointers.data(), asker.timeout_ns);
}

} // namespace

void require_alike(const std::vector<Tensor> &tensors) {
    for (std::size_t i = 1; i < tensors.size(); ++i)
        if (!(tensors[i].shape() == tensors[0].shape()))
            throw Failure(MDIST_ERR_MISMATCH,
                          text("the tensor of local replica 0 has shape ", tensors[0].shape().text(),
                               " and that of local "
                               "replica ",
                               i, " ", tensors[i].shape().text(),
                               "; reduce over axes (mdist_reduce) where "
                               "replicas differ in length"))
                .reason("different_shapes");
}

Tensor reduce_tensors(Strategy &strategy, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors) {
    require_alike(tensors);
    check_op_takes(op, tensors[0].dtype());
    const Asker of_shape = asker.with(text(asker.subject, tensors[0].shape().text()));
    return reduce_many(strategy, of_shape, op, {&tensors})[0];
}

std::vector<Tensor> reduce_many(Strategy &strategy, const Asker &asker, int32_t op,
                                const std::vector<const std::vector<Tensor> *> &many) {
    const std::size_t count = many.size();
    const std::size_t locals = many[0]->size();
    std::vector<Tensor> results;
    std::vector<mdist_buffer_t> outputs; // the same place for all local replicas
    std::vector<mdist_buffer_t> inputs(locals * count);
    for (std::size_t b = 0; b < count; ++b) {
        const std::vector<Tensor> &tensors = *many[b];
        results.push_back(Tensor::allocate(*host(), tensors[0].dtype(), tensors[0].shape()));
        outputs.push_back(results[b].buffer());
        for (std::size_t local = 0; local < locals; ++local) inputs[local * count + b] = tensors[local].buffer();
    }
    if (Workers *workers = strategy.workers()) {
        std::vector<Call> calls(locals);
        for (std::size_t local = 0; local < locals; ++local) {
            calls[local].op = op;
            calls[local].inputs = &inputs[local * count];
            calls[local].outputs = outputs.data();
            calls[local].buffer_count = count;
        }
        perform(*workers, asker, calls);
        return results;
    }
    const reduce::FloatEnvironment environment;
    std::vector<const void *> sources(locals);
    for (std::size_t b = 0; b < count; ++b) {
        for (std::size_t local = 0; local < locals; ++local) sources[local] = inputs[local * count + b].data;
        void *destination = outputs[b].data;
        reduce::reduce({results[b].dtype(), static_cast<reduce::Op>(op), strategy.replica_count()}, sources.data(),
                       locals, &destination, 1, results[b].elements());
    }
    return results;
}

ValuePointer broadcast_value(Strategy &strategy, const Tensor &tensor) {
    std::vector<Tensor> copies;
    for (uint32_t local = 0; local < strategy.span().replicas; ++local) {
        copies.push_back(Tensor::allocate(strategy.place(local), tensor.dtype(), tensor.shape()));
        strategy.place(local).copy_in(copies.back().data(), tensor.data(), tensor.bytes());
    }
    return Value::mirrored(std::move(copies));
}

void all_reduce_local(Strategy &strategy, const Asker &asker, int32_t op, const mdist_buffer_t *inputs,
                      const mdist_buffer_t *outputs, std::size_t buffer_count) {
    constexpr std::size_t kWorthThreads = 262144; // bytes per replica; below, waking a thread costs more than it saves
    const uint32_t replicas = strategy.span().replicas;
    const bool have_threads = strategy.concurrent() && replicas == strategy.local_replica_count();
    std::vector<Call> calls(replicas);
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < buffer_count; ++b) bytes += inputs[b].elements * dtype_size(inputs[b].dtype);
    for (uint32_t local = 0; local < replicas; ++local) {
        Call &call = calls[local];
        call.kind = CallKind::kAllReduce;
        call.op = op;
        call.inputs = inputs + local * buffer_count;
        call.outputs = outputs + local * buffer_count;
        call.buffer_count = buffer_count;
        check_call(call, replicas);
        if (!same_call(calls[0], call))
            throw Failure(MDIST_ERR_MISMATCH, text("the buffers of local replica 0 are ", call_text(calls[0]),
                                                   " and those of local replica ", local, " ", call_text(call),
                                                   difference_text(calls[0], call)))
                .reason("different_calls");
    }
    if (replicas > 1) check_overlap_among(calls);
    if (Workers *workers = strategy.workers()) return perform(*workers, asker, calls);
    const reduce::FloatEnvironment environment;
    if (have_threads && bytes >= kWorthThreads) {
        for (uint32_t local = 0; local < replicas; ++local) strategy.group().post(local, calls[local]);
        std::atomic<bool> out_of_memory{false};
        strategy.run_internal([&](uint32_t local) {
            try {
                all_reduce_posted(strategy.group(), local);
            } catch (const std::bad_alloc &) {
                out_of_memory = true;
            }
        });
        if (out_of_memory) throw std::bad_alloc();
        return;
    }
    std::vector<const void *> sources(replicas);
    std::vector<void *> destinations(replicas);
    for (std::size_t b = 0; b < buffer_count; ++b) {
        for (uint32_t local = 0; local < replicas; ++local) {
            sources[local] = calls[local].inputs[b].data;
            destinations[local] = calls[local].outputs[b].data;
        }
        reduce::reduce({inputs[b].dtype, static_cast<reduce::Op>(op), strategy.replica_count()}, sources.data(),
                       replicas, destinations.data(), replicas, inputs[b].elements);
    }
}

} // namespace mdist
