// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/map.h"

#include "device/transfer.h"
#include "strategy/context.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mdist {
namespace {

/// What one replica's elements gave: by element, then by result.
using Mapped = std::vector<std::vector<Part>>;

void check_arguments_are_shared(const std::vector<ValuePointer> &arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
        visit_leaves(*arguments[i], [&](const Value &leaf, std::size_t) {
            if (leaf.kind() == MDIST_VALUE_PER_REPLICA)
                throw invalid(text("argument ", i,
                                   " is per-replica, and an element sees that of the replica it falls "
                                   "to; a plain or mirrored value is the same for all"));
        });
}

/// A replica without elements has the type and shape of others' results, which a worker without elements cannot know.
void check_every_worker_has_one(const Strategy &strategy, uint64_t count) {
    const uint64_t needed = uint64_t(strategy.worker_count() - 1) * strategy.local_replica_count() + 1;
    if (count < needed)
        throw invalid(text("count is ", count, "; with ", strategy.worker_count(), " workers of ",
                           strategy.local_replica_count(), " replicas it takes ", needed,
                           " elements to give each worker one, without which it has no results"));
}

/// The step of one replica.
int32_t map_share(Replica &replica, uint64_t count, const ElementFunction &function, Mapped &mapped) {
    const uint64_t stride = replica.strategy().replica_count();
    for (uint64_t element = replica.id(); element < count;) {
        const int32_t code = function(replica, element);
        if (code != 0)
            throw callback_returned(text("the function of element ", element), code, replica.last_failure)
                .operation("mdist_map");
        std::vector<Part> &results = mapped.emplace_back();
        for (std::size_t i = 0; i < replica.results.size(); ++i) results.push_back(replica.take_result(i));
        if (count - element <= stride) break;
        element += stride;
    }
    return 0;
}

/// Where element k of a local replica stands among all.
uint64_t element_at(const Strategy &strategy, uint32_t local, std::size_t k) {
    return strategy.first_replica_id() + local + k * uint64_t(strategy.replica_count());
}

/// One result of all local elements, stacked.
class Stack {
  public:
    Stack(const Strategy &strategy, std::vector<Mapped> &mapped, std::size_t result)
        : strategy_(strategy), mapped_(mapped), result_(result), what_(text("result ", result)) {
        while (first_ < mapped.size() && mapped[first_].empty()) ++first_;
    }

    ValuePointer stacked() {
        if (first_ == mapped_.size()) return nullptr;
        std::vector<Part> parts;
        for (uint32_t local = 0; local < mapped_.size(); ++local) {
            for (std::size_t k = 0; k < mapped_[local].size(); ++k) check(local, k);
            parts.push_back(stack(local));
        }
        return regroup(what_, std::move(parts), strategy_.first_replica_id());
    }

  private:
    const Part &example() const { return mapped_[first_][0][result_]; }

    /// Throws MISMATCH unless an element's result is like that of the first.
    void check(uint32_t local, std::size_t k) const {
        const Part &part = mapped_[local][k][result_];
        const std::string here = text("for element ", element_at(strategy_, local, k));
        const std::string there = text("for element ", element_at(strategy_, first_, 0));
        require_same_paths(what_, example(), there, part, here);
        for (std::size_t i = 0; i < part.size(); ++i) {
            const Tensor &a = example()[i].tensor;
            const Tensor &b = part[i].tensor;
            if (a.dtype() == b.dtype() && a.shape() == b.shape()) continue;
            const std::string name = part[i].path.empty() ? what_ : text('"', part[i].path, "\" of ", what_);
            throw Failure(MDIST_ERR_MISMATCH, text(name, " is ", dtype_name(a.dtype()), ' ', a.shape().text(), ' ',
                                                   there, " and ", dtype_name(b.dtype()), ' ', b.shape().text(), ' ',
                                                   here, "; what is stacked has one type and shape"))
                .reason(a.dtype() == b.dtype() ? "different_shapes" : "different_dtypes");
        }
    }

    Part stack(uint32_t local) const {
        Part part;
        for (std::size_t i = 0; i < example().size(); ++i) {
            const Tensor &like = example()[i].tensor;
            if (like.shape().rank == MDIST_MAX_RANK)
                throw invalid(text(what_, " has ", MDIST_MAX_RANK, " dimensions, and stacking would give it one more"));
            Device &device = like.on_host() ? *host() : strategy_.device(local);
            Tensor all = Tensor::allocate(device, like.dtype(), like.shape().with_first(mapped_[local].size()));
            char *to = static_cast<char *>(all.data());
            for (const std::vector<Part> &element : mapped_[local]) {
                const Tensor &row = element[result_][i].tensor;
                copy_to(device, to, row);
                to += row.bytes();
            }
            part.push_back({example()[i].path, std::move(all)});
        }
        return part;
    }

    const Strategy &strategy_;
    std::vector<Mapped> &mapped_;
    const std::size_t result_;
    const std::string what_;
    uint32_t first_ = 0; // the first local replica with an element
};

} // namespace

void map_elements(Strategy &strategy, uint64_t count, const ElementFunction &function,
                  std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results, uint64_t timeout_ns) {
    require_cross_replica(strategy, "mdist_map", "call mdist_merge_call first, and map inside the merge");
    strategy.require_no_commands("mdist_map", "take the elements of each replica in a step of mdist_run_named");
    check_arguments_are_shared(arguments);
    if (!results.empty()) check_every_worker_has_one(strategy, count);
    std::vector<Mapped> mapped(strategy.local_replica_count());
    std::vector<ValuePointer> none(results.size()); // each element's are taken out before the next
    strategy.run([&](Replica &replica) { return map_share(replica, count, function, mapped[replica.local_index()]); },
                 std::move(arguments), none, timeout_ns);
    try {
        for (std::size_t i = 0; i < results.size(); ++i) results[i] = Stack(strategy, mapped, i).stacked();
    } catch (const Failure &failure) {
        // Other workers, whose elements may be fine, are to hear of it as of a failure in the run.
        if (strategy.worker_count() > 1)
            release_failure(strategy.group(), "mdist_map", strategy.first_replica_id(), failure);
        throw;
    }
}

} // namespace mdist
