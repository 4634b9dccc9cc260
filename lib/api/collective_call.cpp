// SPDX-License-Identifier: Apache-2.0
#include "api/collective_call.h"

#include "api/check.h"
#include "device/transfer/transfer.h"
#include "util/text.h"

namespace mdist {
namespace {

/// Throws INVALID_ARGUMENT if a replica on the CPU passes GPU memory.
void need_reachable(const Job &job, uint32_t id, const Call &call) {
    if (!gpus_used() || job.comm.gpus() != nullptr) return; // GPU replicas check this in the call
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        for (const mdist_buffer_t *const each : {&call.inputs[b], &call.outputs[b]})
            if (const int32_t gpu = gpu_of(each->data); gpu >= 0)
                throw invalid(text("buffer ", b, " lies on gpu:", gpu, ", but replica ", id,
                                   " is on the CPU. Pass host memory, or give the strategy GPUs (key `devices`)"));
}

} // namespace

void need_arrays(Call &call, uint32_t id, uint32_t replicas, const ArrayNames &names,
                 std::vector<mdist_buffer_t> &absent) {
    const PatternTraits &traits = call.kind->traits();
    const bool one_sided = traits.has_root && !traits.broadcasts && id != call.root;
    if (!one_sided || !traits.cuts) need_array(call.inputs, call.buffer_count, names.inputs);
    if (!one_sided || traits.cuts) need_array(call.outputs, call.buffer_count, names.outputs);
    if (call.kind == &calls::kAllToAllParts) {
        need_array(call.input_parts, call.buffer_count, names.input_parts);
        need_array(call.output_parts, call.buffer_count, names.output_parts);
        static constexpr uint64_t kNone = 0; // NULL would mean a call of a kind without parts
        if (call.buffer_count == 0) call.input_parts = call.output_parts = &kNone;
        call.part_count = replicas;
    }
    if (!one_sided) return;
    const mdist_buffer_t *const present = traits.cuts ? call.outputs : call.inputs;
    absent.reserve(call.buffer_count + 1); // one more: NULL would mean that calls of this kind have no buffers
    for (std::size_t b = 0; b < call.buffer_count; ++b) absent.push_back({nullptr, 0, present[b].dtype, 0});
    (traits.cuts ? call.inputs : call.outputs) = absent.data();
}

void check_placed(const Job &job, uint32_t id, const Call &call, uint32_t replicas) {
    check_call(call, replicas);
    const PatternTraits &traits = call.kind->traits();
    if (traits.has_root && traits.sums && call.id_of(call.root) == id)
        for (std::size_t b = 0; b < call.buffer_count; ++b) check_as_long(call, b);
    need_reachable(job, id, call);
}

} // namespace mdist
