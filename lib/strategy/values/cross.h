// SPDX-License-Identifier: Apache-2.0
// Reductions and copies of values in cross-replica context. The caller holds the turn.
#pragma once

#include "comm/call.h"
#include "comm/packs.h"
#include "strategy/strategy.h"

#include <string>
#include <vector>

namespace mdist {

/// Which public function asks, for the others' messages, how long it waits for other workers, and in which packs it
/// reduces many tensors.
struct Asker {
    /// `timeout_ns` 0: as the strategy was configured, as are packs.
    Asker(const Strategy &strategy, CallKind call_kind, uint64_t call_timeout_ns)
        : kind(call_kind), timeout_ns(strategy.timeout_or_own(call_timeout_ns)), packing(strategy.packing()) {}
    Asker with(std::string what) const {
        Asker copy = *this;
        copy.subject = std::move(what);
        return copy;
    }

    CallKind kind;
    uint64_t timeout_ns;
    Packing packing;
    std::string subject; // what else all workers must mean: a variable's name, or where the result goes
    uint64_t detail = 0; // what of that is too long for words
};

/// Throws MISMATCH unless the local replicas' tensors have one shape.
void require_alike(const std::vector<Tensor> &tensors);

/// One tensor from one per replica of the job, of which `tensors` are the local ones: element by element along the
/// canonical tree; equal shapes and dtypes. On the host.
Tensor reduce_tensors(Strategy &strategy, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors);
/// The same of many, in one operation or packs. They are alike, and `op` takes them; the asker says which they are.
/// On the host, or on a GPU that has reduced them.
std::vector<Tensor> reduce_many(Strategy &strategy, const Asker &asker, int32_t op,
                                const std::vector<const std::vector<Tensor> *> &many);

/// The same over axes of each tensor first; MEAN divides by the true number of elements. `workers` nullptr: of the
/// local ones alone.
Tensor reduce_axes(Workers *workers, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors,
                   const std::vector<int32_t> &axes);

/// A caller's `inputs` and `outputs`, by local replica and then by buffer, which are checked.
void all_reduce_local(Strategy &strategy, const Asker &asker, int32_t op, const mdist_buffer_t *inputs,
                      const mdist_buffer_t *outputs, std::size_t buffer_count);
/// The same of buffers that are fine: alike, taken by `op`, outputs apart from everything.
void all_reduce_own(Strategy &strategy, const Asker &asker, int32_t op, const mdist_buffer_t *inputs,
                    const mdist_buffer_t *outputs, std::size_t buffer_count);

/// Where a reduced value goes.
class Target {
  public:
    /// A plain value, on the host.
    static Target here() { return Target(host().get()); }
    /// A mirrored one.
    static Target everywhere() { return Target(nullptr); }
    /// A plain one, in the memory of that device.
    static Target on(Device &device) { return Target(&device); }

    bool is_everywhere() const { return device_ == nullptr; }
    Device &device() const { return *device_; }

  private:
    explicit Target(Device *device) : device_(device) {}
    Device *device_;
};

/// Many values, each to its target, leaf by leaf: all leaves are reduced in one operation, or in two where targets
/// differ.
std::vector<ValuePointer> reduce_values(Strategy &strategy, const Asker &asker, int32_t op,
                                        const std::vector<ValuePointer> &values, const std::vector<Target> &targets);
/// Over axes of each leaf, to plain values.
ValuePointer reduce_value_axes(Strategy &strategy, const Asker &asker, int32_t op, const Value &value,
                               const std::vector<int32_t> &axes);
/// What replica 0 of the job has, leaf by leaf, as a plain value. The leaves may look otherwise on other workers.
ValuePointer first_value(Strategy &strategy, const Asker &asker, const Value &value);
/// Throws unless `op` takes a leaf, as reduce_values() does when it comes to that.
void check_reduces(const Strategy &strategy, int32_t op, const Value &leaf);
/// Whether reducing it takes other workers: what is one content for all reduces to itself.
bool reduces_with_others(const Strategy &strategy, const Value &value, bool over_axes);
/// Whether each replica has a content of its own: where there is one per worker, a plain value is such too, as in
/// TensorFlow.
bool differs_by_replica(const Strategy &strategy, const Value &leaf);
/// Throws INVALID_ARGUMENT unless one content for all reduces to itself without asking anybody, as in TensorFlow.
void require_reduces_to_itself(int32_t op, mdist_value_kind_t kind, const Tensor &tensor, uint32_t replicas);
ValuePointer broadcast_value(Strategy &strategy, const Tensor &tensor);
/// The same of a plain value, leaf by leaf; mirrored leaves are shared.
ValuePointer mirror_value(Strategy &strategy, const ValuePointer &value);
/// One tensor from one per replica of the job, of which `tensors` are the local ones.
Tensor gather_tensors(Strategy &strategy, const Asker &asker, const std::vector<Tensor> &tensors, int32_t axis);
/// Leaf by leaf.
ValuePointer gather_value(Strategy &strategy, const Asker &asker, const Value &value, int32_t axis);
/// The same asker, of one leaf of a value: all workers must mean the same.
Asker of_leaf(const Asker &asker, const Value &value, std::size_t index);

} // namespace mdist
