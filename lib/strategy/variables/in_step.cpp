// SPDX-License-Identifier: Apache-2.0
// Writes to variables by all replicas, inside a step.
#include "comm/collectives.h"
#include "device/gpu/gpu.h"
#include "strategy/job/call_functions.h"
#include "strategy/variables/variable.h"
#include "util/text.h"

namespace mdist {

void Variable::check_owner(const Party &party) const {
    if (&party.job() != job_.get())
        throw invalid(text("variable \"", spec_.name, "\" belongs to another strategy than this replica"));
}

/// Returns the tensor on the replica's device. Copies it from the host to a GPU.
static Tensor on_device(Device &device, const Tensor &tensor) {
    if (device.gpu() == nullptr || !tensor.on_host()) return tensor;
    Tensor copy = Tensor::allocate(device, tensor.dtype(), tensor.shape());
    device.copy_in(copy.data(), tensor.data(), tensor.bytes());
    return copy;
}

void Variable::assign_in_step(Party &party, int32_t assign, const Tensor &tensor, uint64_t timeout_ns) {
    check_owner(party);
    check_write(assign, tensor, "the tensor");
    const uint32_t local = party.local_index();
    if (!aggregated_in_step()) return apply(local, assign, tensor);

    party.await_turn("mdist_replica_assign to a mirrored variable that is aggregated");
    const Meaning &meaning = meanings_[static_cast<std::size_t>(assign - MDIST_ASSIGN_SET)];
    const bool only_first = spec_.aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
    // With one worker, nothing can fail once the replicas have met, so SET writes the copies at once. With several, the
    // outcome comes first: a variable must not be half written if another worker dies. All replicas receive the same
    // bits either way.
    const bool at_once = !only_first && job_->replicas.worker_count() == 1 && assign == MDIST_ASSIGN_SET;
    const Tensor total = at_once ? Tensor() : store_->scratch(local, spec_.dtype, spec_.shape);
    const Tensor own = on_device(job_->replicas.device(local), tensor);
    const mdist_buffer_t input = own.buffer();
    const mdist_buffer_t output = (at_once ? copies_[local] : total).buffer();
    const int32_t op = spec_.aggregation == MDIST_AGGREGATION_MEAN ? MDIST_MEAN : MDIST_SUM;
    Call call = only_first ? call_of(&calls::kAssignFirst, 0, &input, &output, 1)
                           : call_of(&calls::kAssign, op, &input, &output, 1);
    call.subject = meaning.hash;
    call.subject_text = meaning.text.c_str();
    perform_collective(job_->comm.executors(), local, call, timeout_ns);
    if (!at_once) apply(local, assign, total);
}

} // namespace mdist
