// SPDX-License-Identifier: Apache-2.0
#include "strategy/cross.h"

#include "comm/call.h"
#include "comm/collectives.h"
#include "comm/overlap.h"
#include "comm/workers.h"
#include "reduce/arithmetic.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "strategy/rows.h"
#include "util/dtype.h"
#include "util/text.h"

#include <atomic>
#include <functional>
#include <new>
#include <utility>

namespace mdist {
namespace {

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

/// Throws unless one content for all reduces to itself without asking anybody, as in TensorFlow.
void require_reduces_to_itself(int32_t op, mdist_value_kind_t kind, const Tensor &tensor, uint32_t replicas) {
    if (op == MDIST_MEAN || op == MDIST_MIN || op == MDIST_MAX || replicas == 1) return;
    const bool zero = kind == MDIST_VALUE_PLAIN && op == MDIST_SUM &&
                      reduce::all_zero(tensor.dtype(), tensor.data(), tensor.elements());
    if (zero) return;
    throw invalid(text("a ", kind == MDIST_VALUE_PLAIN ? "plain" : "mirrored", " value cannot be reduced with ",
                       op == MDIST_SUM ? "SUM" : "PROD", " over ", replicas,
                       " replicas, since it has one content for "
                       "all; take MEAN to have it back, or a per-replica value"));
}

/// Whether each replica has a content of its own: where there is one per worker, a plain value is such too, as in
/// TensorFlow.
bool differs_by_replica(const Strategy &strategy, const Value &value) {
    return value.kind() == MDIST_VALUE_PER_REPLICA ||
           (value.kind() == MDIST_VALUE_PLAIN && strategy.worker_count() > 1 && strategy.local_replica_count() == 1);
}

/// The local replicas' calls, together with those of the other workers.
void perform(Workers &workers, const Asker &asker, std::vector<Call> &calls) {
    const std::string subject = asker.subject.empty() ? "" : asker.subject + ", ";
    std::vector<const Call *> pointers;
    for (Call &call : calls) {
        call.kind = asker.kind;
        call.subject = std::hash<std::string>()(subject);
        call.subject_text = subject.c_str();
        pointers.push_back(&call);
    }
    workers.perform(pointers.data(), asker.timeout_ns);
}

/// All local replicas have their results in the same place.
void perform_into(Workers &workers, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors,
                  const Tensor &out) {
    const mdist_buffer_t output = out.buffer();
    std::vector<mdist_buffer_t> inputs;
    for (const Tensor &tensor : tensors) inputs.push_back(tensor.buffer());
    std::vector<Call> calls(tensors.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        calls[i].op = op;
        calls[i].inputs = &inputs[i];
        calls[i].outputs = &output;
        calls[i].buffer_count = 1;
    }
    perform(workers, asker.with(text(asker.subject, out.shape().text())), calls);
}

/// Rows are summed up by taking all of them.
ValuePointer reduce_rows(Strategy &strategy, const Asker &asker, int32_t op, const Value &value) {
    const std::string subject = text(op == MDIST_MEAN ? "MEAN, " : "SUM, ", rows_for(value, 0).text(), ", ");
    std::vector<Tensor> indices;
    for (uint32_t i = 0; i < value.tensors().size(); ++i) indices.push_back(value.indices_for(i));
    const Rows all = {gather_tensors(strategy, asker.with(subject + "indices, "), indices, 0),
                      gather_tensors(strategy, asker.with(subject), value.tensors(), 0)};
    if (op == MDIST_MEAN) divide_rows(all, strategy.replica_count());
    return Value::rows(*Value::plain(all.indices), *Value::plain(all.values));
}

Tensor on_host(const Tensor &tensor) {
    Tensor copy = Tensor::allocate(*host(), tensor.dtype(), tensor.shape());
    host()->copy_out(copy.data(), tensor.data(), copy.bytes());
    return copy;
}

} // namespace

Tensor reduce_tensors(Strategy &strategy, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors) {
    require_alike(tensors);
    check_op_takes(op, tensors[0].dtype());
    const Tensor out = Tensor::allocate(*host(), tensors[0].dtype(), tensors[0].shape());
    if (Workers *workers = strategy.workers()) {
        perform_into(*workers, asker, op, tensors, out);
        return out;
    }
    std::vector<const void *> sources;
    for (const Tensor &tensor : tensors) sources.push_back(tensor.data());
    void *destination = out.data();
    const reduce::FloatEnvironment environment;
    reduce::reduce({out.dtype(), static_cast<reduce::Op>(op), strategy.replica_count()}, sources.data(), sources.size(),
                   &destination, 1, out.elements());
    return out;
}

ValuePointer reduce_value(Strategy &strategy, const Asker &asker, int32_t op, const Value &value,
                          const std::vector<int32_t> &axes) {
    check_op(op);
    value.check_count(strategy.local_replica_count());
    const uint32_t replicas = strategy.replica_count();
    const bool differs = differs_by_replica(strategy, value);
    if (value.has_rows()) check_rows_op(op, value.tensors()[0].dtype());
    if (!axes.empty()) {
        value.check_whole();
        Workers *const workers = value.kind() == MDIST_VALUE_PLAIN && !differs ? nullptr : strategy.workers();
        Tensor reduced = reduce_axes(workers, asker, op, value.tensors(), axes);
        if (value.kind() == MDIST_VALUE_PLAIN && !differs)
            require_reduces_to_itself(op, value.kind(), reduced, replicas);
        return Value::plain(std::move(reduced));
    }
    if (differs && value.has_rows()) return reduce_rows(strategy, asker, op, value);
    if (differs) return Value::plain(reduce_tensors(strategy, asker, op, value.tensors()));
    require_reduces_to_itself(op, value.kind(), value.tensors()[0], replicas);
    const ValuePointer itself = Value::plain(on_host(value.tensors()[0]));
    return value.has_rows() ? Value::rows(*Value::plain(on_host(value.indices_for(0))), *itself) : itself;
}

/// Straight into every device's own result, by all replicas' threads where that is worth it.
ValuePointer all_reduce_value(Strategy &strategy, const Asker &asker, int32_t op, const Value &value) {
    value.check_count(strategy.local_replica_count());
    require_alike(value.tensors());
    std::vector<Tensor> results;
    std::vector<mdist_buffer_t> inputs;
    std::vector<mdist_buffer_t> outputs;
    for (const Tensor &tensor : value.tensors()) {
        const auto local = static_cast<uint32_t>(results.size());
        results.push_back(Tensor::allocate(strategy.device(local), tensor.dtype(), tensor.shape()));
        inputs.push_back(tensor.buffer());
        outputs.push_back(results.back().buffer());
    }
    const Asker everywhere = asker.with(text("everywhere, ", value.tensors()[0].shape().text()));
    all_reduce_local(strategy, everywhere, op, inputs.data(), outputs.data(), 1);
    return Value::mirrored(std::move(results));
}

ValuePointer reduce_value_to(Strategy &strategy, const Asker &asker, int32_t op, const Value &value,
                             const std::string &destination) {
    const bool everywhere = destination.empty();
    if (!everywhere) strategy.device_index(destination);
    if (everywhere && !value.has_rows() && differs_by_replica(strategy, value))
        return all_reduce_value(strategy, asker, op, value);
    const ValuePointer reduced = reduce_value(strategy, asker, op, value, {});
    if (!everywhere) return reduced;
    const ValuePointer copies = broadcast_value(strategy, reduced->tensors()[0]);
    return value.has_rows() ? Value::rows(*broadcast_value(strategy, reduced->indices_for(0)), *copies) : copies;
}

ValuePointer broadcast_value(Strategy &strategy, const Tensor &tensor) {
    std::vector<Tensor> copies;
    for (uint32_t local = 0; local < strategy.local_replica_count(); ++local) {
        copies.push_back(Tensor::allocate(strategy.device(local), tensor.dtype(), tensor.shape()));
        strategy.device(local).copy_in(copies.back().data(), tensor.data(), tensor.bytes());
    }
    return Value::mirrored(std::move(copies));
}

void all_reduce_local(Strategy &strategy, const Asker &asker, int32_t op, const mdist_buffer_t *inputs,
                      const mdist_buffer_t *outputs, std::size_t buffer_count) {
    constexpr std::size_t kWorthThreads = 262144; // bytes per replica; below, waking a thread costs more than it saves
    const uint32_t replicas = strategy.local_replica_count();
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
    if (strategy.concurrent() && bytes >= kWorthThreads) {
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
