// SPDX-License-Identifier: Apache-2.0
// What replicas do to variables together, inside a step.
#include "comm/collectives.h"
#include "device/gpu/gpu.h"
#include "reduce/arithmetic.h"
#include "strategy/variables/variable.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void Variable::check_owner(const Replica &replica) const {
    if (&replica.strategy() != strategy_.get())
        throw invalid(text("variable \"", spec_.name, "\" belongs to another strategy than this replica"));
}

/// Where the replica computes: what lies on the host is copied to its GPU.
static Tensor on_device(Device &device, const Tensor &tensor) {
    if (device.gpu() == nullptr || !tensor.on_host()) return tensor;
    Tensor copy = Tensor::allocate(device, tensor.dtype(), tensor.shape());
    device.copy_in(copy.data(), tensor.data(), tensor.bytes());
    return copy;
}

void Variable::assign_in_step(Replica &replica, int32_t assign, const Tensor &tensor, uint64_t timeout_ns) {
    check_owner(replica);
    check_write(assign, tensor, "the tensor");
    const uint32_t local = replica.local_index();
    if (!aggregated_in_step()) return apply(local, assign, tensor);

    replica.await_turn("mdist_replica_assign to a mirrored variable that is aggregated");
    const Meaning &meaning = meanings_[static_cast<std::size_t>(assign - MDIST_ASSIGN_SET)];
    const bool only_first = spec_.aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
    // With one worker nothing can fail once the replicas have met, so the copies may be written at once. Else the
    // outcome comes first: a variable must not be half written when another worker dies. Either way all replicas
    // receive the same bits. On GPUs only what is set is written at once: their reductions write no other way.
    Device &device = strategy_->device(local);
    const bool at_once =
        !only_first && strategy_->worker_count() == 1 && (device.gpu() == nullptr || assign == MDIST_ASSIGN_SET);
    const Tensor total = at_once ? Tensor() : store_->scratch(local, spec_.dtype, spec_.shape);
    const Tensor own = on_device(device, tensor);
    const mdist_buffer_t input = own.buffer();
    const mdist_buffer_t output = (at_once ? copies_[local] : total).buffer();
    Call call;
    call.kind = CallKind::kAssign;
    call.inputs = &input;
    call.outputs = &output;
    call.buffer_count = 1;
    call.subject = meaning.hash;
    call.subject_text = meaning.text.c_str();
    if (at_once && assign != MDIST_ASSIGN_SET) {
        call.apply = reduce::write_elements;
        call.how = assign;
    }
    Group &group = strategy_->group();
    if (only_first) {
        exchange(group, local, call, timeout_ns);
    } else {
        call.op = spec_.aggregation == MDIST_AGGREGATION_MEAN ? MDIST_MEAN : MDIST_SUM;
        all_reduce(group, local, call, timeout_ns);
    }
    if (!at_once) apply(local, assign, total);
}

std::shared_ptr<Variable> create_together(Replica &replica, VariableSpec spec, const Tensor &initial,
                                          uint64_t timeout_ns) {
    spec.check();
    Strategy &strategy = replica.strategy();
    replica.await_turn("mdist_replica_variable_create");
    const std::string summary = spec.text();
    Call call;
    call.kind = CallKind::kCreateVariable;
    call.subject = spec.hash();
    call.subject_text = summary.c_str();
    Frame::Shared &shared = replica.frame().shared;
    Group &group = strategy.group();
    replica.finish_device(); // `initial` is read by all of the devices
    group.meet(replica.local_index(), call, timeout_ns);
    if (replica.local_index() == 0) {
        const Finish finish(group);
        shared.create_failure = nullptr;
        shared.create_out_of_memory = true; // unless it turns out otherwise
        try {
            shared.created = Variable::create(strategy.shared_from_this(), std::move(spec), initial,
                                              CallKind::kCreateVariable, timeout_ns);
            shared.create_out_of_memory = false;
        } catch (const Failure &failure) {
            shared.create_failure = std::make_shared<Failure>(failure);
            throw;
        }
    } else {
        group.finish();
    }
    if (shared.create_failure) throw Failure(*shared.create_failure);
    if (shared.create_out_of_memory) throw std::bad_alloc();
    std::shared_ptr<Variable> created = shared.created;
    group.finish(); // all have it: whoever destroys the last handle frees the variable
    if (replica.local_index() == 0) shared.created.reset();
    return created;
}

} // namespace mdist
