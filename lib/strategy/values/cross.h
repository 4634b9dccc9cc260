// SPDX-License-Identifier: Apache-2.0
// Reductions and copies of values in cross-replica context. The caller holds the turn.
#pragma once

#include "comm/call/call.h"
#include "comm/packs.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/job.h"
#include "strategy/values/value.h"

#include <span>
#include <string>
#include <vector>

namespace mdist {

/// The public function that asks, for other workers' error messages. Also how long it waits for other workers, and in
/// which packs it reduces many tensors.
struct Asker {
    /// `timeout_ns` 0: as configured for the strategy. Packs are as configured, too.
    Asker(const Job &job, const calls::ValueFunction &called, uint64_t call_timeout_ns)
        : function(&called), timeout_ns(job.comm.timeout_or_own(call_timeout_ns)), packing(job.comm.packing) {}
    Asker with(std::string what) const {
        Asker copy = *this;
        copy.subject = std::move(what);
        return copy;
    }

    const calls::ValueFunction *function;
    uint64_t timeout_ns;
    Packing packing;
    std::string subject; // what else must be the same on all workers: a variable's name, or where the result goes
    uint64_t detail = 0; // hash of the part that is too long for words
};

/// Throws MISMATCH unless the local replicas' tensors have the same shape.
void require_alike(std::span<const Tensor> tensors);

/// The dimension that an axis stands for. A negative axis counts from the end. Throws INVALID_ARGUMENT out of range.
int32_t dimension(int32_t axis, int32_t rank);
/// Throws MISMATCH unless dtype, rank and every dimension outside `free` are the same.
void require_alike_but(std::span<const Tensor> tensors, const bool (&free)[MDIST_MAX_RANK]);

/// Reduces one tensor per replica of the job to one tensor, element by element along the canonical tree. `tensors` are
/// the local replicas' tensors. Shapes and dtypes are equal. The result is on the host.
Tensor reduce_tensors(Job &job, const Asker &asker, int32_t op, std::span<const Tensor> tensors);
/// The same for many tensors, in one operation or in packs. They are alike and `op` accepts them; the asker says which
/// they are. The results are on the host, or on a GPU if that reduced them.
std::vector<Tensor> reduce_many(Job &job, const Asker &asker, int32_t op,
                                const std::vector<std::span<const Tensor>> &many);
/// The same, but makes mirrored values: each local replica gets a result in the memory of its device.
std::vector<ValuePointer> all_reduce_many(Job &job, const Asker &asker, int32_t op,
                                          const std::vector<std::span<const Tensor>> &many);

/// The same, but reduces over axes of each tensor first. MEAN divides by the true number of elements. `workers`
/// nullptr: reduces the local tensors only.
Tensor reduce_axes(Workers *workers, const Asker &asker, int32_t op, std::span<const Tensor> tensors,
                   const std::vector<int32_t> &axes);

/// Reduces a caller's inputs to its outputs, by local replica and then by buffer. `all` holds the op and the buffers of
/// all local replicas, `buffer_count` each. Checks the buffers.
void all_reduce_local(Job &job, const Asker &asker, const Call &all, std::size_t buffer_count);

/// Where a reduced value is stored.
class Target {
  public:
    /// A plain value, on the host.
    static Target here() { return Target(host().get()); }
    /// A mirrored value.
    static Target everywhere() { return Target(nullptr); }
    /// A plain value in the memory of that device.
    static Target on(Device &device) { return Target(&device); }

    bool is_everywhere() const { return device_ == nullptr; }
    Device &device() const { return *device_; }

  private:
    explicit Target(Device *device) : device_(device) {}
    Device *device_;
};

/// Reduces many values, each to its target, leaf by leaf. All leaves take one operation, or two if targets differ.
std::vector<ValuePointer> reduce_values(Job &job, const Asker &asker, int32_t op,
                                        const std::vector<const Value *> &values, const std::vector<Target> &targets);
/// Reduces over axes of each leaf, to plain values.
ValuePointer reduce_value_axes(Job &job, const Asker &asker, int32_t op, const Value &value,
                               const std::vector<int32_t> &axes);
/// Returns the value of replica 0 of the job, leaf by leaf, as a plain value. On other workers, the leaves may have
/// other types and shapes.
ValuePointer first_value(Job &job, const Asker &asker, const Value &value);
/// Throws unless `op` accepts the leaf, as reduce_values() would.
void check_reduces(int32_t op, const Value &leaf);
/// Whether reducing it involves other workers. A value that is the same for all replicas reduces to itself, or is
/// refused: so is not what other workers may have, who then wait.
bool reduces_with_others(const Job &job, int32_t op, const Value &value, bool over_axes);
/// Whether each replica has its own content.
inline bool differs_by_replica(const Value &leaf) {
    return leaf.kind() == MDIST_VALUE_PER_REPLICA;
}
/// Throws INVALID_ARGUMENT unless the op gives back a value that is the same for all.
void require_reduces_to_itself(int32_t op, mdist_value_kind_t kind, const Tensor &tensor);
ValuePointer broadcast_value(Job &job, const Tensor &tensor);
/// Makes a mirrored value of a plain one, leaf by leaf. Leaves that are mirrored already are shared.
ValuePointer mirror_value(Job &job, const ValuePointer &value);
/// Concatenates one tensor per replica of the job. `tensors` are the local replicas' tensors.
Tensor gather_tensors(Job &job, const Asker &asker, std::span<const Tensor> tensors, int32_t axis);
/// The same, leaf by leaf.
ValuePointer gather_value(Job &job, const Asker &asker, const Value &value, int32_t axis);
/// The same asker for one leaf of a value, which must be the same leaf on all workers.
Asker of_leaf(const Asker &asker, const Value &value, std::size_t index);

} // namespace mdist
