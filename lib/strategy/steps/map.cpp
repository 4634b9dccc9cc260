// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/map.h"

#include "device/transfer/transfer.h"
#include "strategy/job/context.h"
#include "strategy/job/release.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mdist {
namespace {

/// The results of one replica's elements: by element, then by result.
using Mapped = std::vector<std::vector<Part>>;

void check_arguments_are_shared(const std::vector<ValuePointer> &arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
        visit_leaves(*arguments[i], [&](const Value &leaf, std::size_t) {
            if (leaf.kind() == MDIST_VALUE_PER_REPLICA)
                throw invalid(text("argument ", i,
                                   " is per-replica, so each element would see the value of the replica that maps it. "
                                   "Pass a plain or mirrored value, which is the same for all"));
        });
}

/// A replica without elements takes the type and shape of other replicas' results. A worker without elements could not
/// know them.
void check_every_worker_has_one(const Replicas &replicas, uint64_t count) {
    const uint64_t needed = uint64_t(replicas.span_of(replicas.worker_count() - 1).first) + 1;
    if (count < needed)
        throw invalid(text("count is ", count, ", but ", replicas.worker_count(), " workers need at least ", needed,
                           " elements, since the last worker begins at replica ", needed - 1,
                           ". Each worker must get one, because it learns the type and shape of its results from it"));
}

/// Runs one replica's elements.
int32_t map_share(Replica &replica, uint64_t count, const ElementFunction &function, Mapped &mapped) {
    const uint64_t stride = replica.job().replicas.count();
    for (uint64_t element = replica.id(); element < count;) {
        const int32_t code = function(replica, element);
        if (code != 0)
            throw callback_returned(text("the function of element ", element), code, replica.why())
                .operation("mdist_map");
        std::vector<Part> &results = mapped.emplace_back();
        for (std::size_t i = 0; i < replica.results.size(); ++i) results.push_back(replica.take_result(i));
        if (count - element <= stride) break;
        element += stride;
    }
    return 0;
}

/// The number, among all elements, of element k of a local replica.
uint64_t element_at(const Replicas &replicas, uint32_t local, std::size_t k) {
    return replicas.first_id() + local + k * uint64_t(replicas.count());
}

/// Stacks one result of all local elements.
class Stack {
  public:
    Stack(const Replicas &replicas, std::vector<Mapped> &mapped, std::size_t result)
        : replicas_(replicas), mapped_(mapped), result_(result), what_(text("result ", result)) {
        while (first_ < mapped.size() && mapped[first_].empty()) ++first_;
    }

    ValuePointer stacked() {
        if (first_ == mapped_.size()) return nullptr;
        std::vector<Part> parts;
        for (uint32_t local = 0; local < mapped_.size(); ++local) {
            for (std::size_t k = 0; k < mapped_[local].size(); ++k) check(local, k);
            parts.push_back(stack(local));
        }
        return regroup(what_, std::move(parts), replicas_.first_id());
    }

  private:
    const Part &example() const { return mapped_[first_][0][result_]; }

    /// Throws MISMATCH unless an element's result is like that of the first element.
    void check(uint32_t local, std::size_t k) const {
        const Part &part = mapped_[local][k][result_];
        const std::string here = text("for element ", element_at(replicas_, local, k));
        const std::string there = text("for element ", element_at(replicas_, first_, 0));
        require_same_paths(what_, example(), there, part, here);
        for (std::size_t i = 0; i < part.size(); ++i) {
            const Tensor &a = example()[i].tensor;
            const Tensor &b = part[i].tensor;
            if (a.dtype() == b.dtype() && a.shape() == b.shape()) continue;
            const std::string name = part[i].path.empty() ? what_ : text('"', part[i].path, "\" of ", what_);
            throw Failure(MDIST_ERR_MISMATCH,
                          text(name, " is ", dtype_name(a.dtype()), ' ', a.shape().text(), ' ', there, " and ",
                               dtype_name(b.dtype()), ' ', b.shape().text(), ' ', here,
                               "; results can be stacked only if all have the same type and shape"))
                .reason(a.dtype() == b.dtype() ? "different_shapes" : "different_dtypes");
        }
    }

    Part stack(uint32_t local) const {
        Part part;
        for (std::size_t i = 0; i < example().size(); ++i) {
            const Tensor &like = example()[i].tensor;
            if (like.shape().rank == MDIST_MAX_RANK)
                throw invalid(text(what_, " has ", MDIST_MAX_RANK,
                                   " dimensions, which is the maximum, but stacking would add one"));
            Device &device = like.on_host() ? *host() : replicas_.device(local);
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

    const Replicas &replicas_;
    std::vector<Mapped> &mapped_;
    const std::size_t result_;
    const std::string what_;
    uint32_t first_ = 0; // the first local replica with an element
};

} // namespace

void map_elements(Runs &runs, uint64_t count, const ElementFunction &function, std::vector<ValuePointer> arguments,
                  std::vector<ValuePointer> &results, uint64_t timeout_ns) {
    Job &job = runs.job();
    require_cross_replica(job, "mdist_map", "Call mdist_merge_call first, and map inside the merge");
    job.reach.require_no_commands("mdist_map",
                                  "call the function for the elements of each replica in a step of mdist_run_named");
    check_arguments_are_shared(arguments);
    if (!results.empty()) check_every_worker_has_one(job.replicas, count);
    std::vector<Mapped> mapped(job.replicas.local_count());
    std::vector<ValuePointer> none(results.size()); // each element's results are taken out before the next element
    runs.run([&](Replica &replica) { return map_share(replica, count, function, mapped[replica.local_index()]); },
             std::move(arguments), none, timeout_ns);
    try {
        for (std::size_t i = 0; i < results.size(); ++i) results[i] = Stack(job.replicas, mapped, i).stacked();
    } catch (const Failure &failure) {
        // Other workers may have no failure. They must hear of this one as of a failure in the run.
        if (job.replicas.worker_count() > 1)
            release_failure(job.comm.group(), "mdist_map", job.replicas.first_id(), failure);
        throw;
    }
}

} // namespace mdist
