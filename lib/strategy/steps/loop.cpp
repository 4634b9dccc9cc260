// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/loop.h"

#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "data/iterator.h"
#include "strategy/job/call_functions.h"
#include "strategy/values/element.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/dtype.h"
#include "util/fnv.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

constexpr const char *kInStep = "mdist_merge_call first, and loop inside the merge";

ValuePointer checked_initial(ValuePointer initial) {
    if (!initial) return initial;
    if (!initial->is_structure())
        throw invalid(
            "initial is not a structure, but each output needs a path; make it a structure with mdist_value_structure");
    visit_leaves(*initial, [](const Value &leaf, std::size_t) {
        leaf.check_no_rows();
        if (leaf.kind() != MDIST_VALUE_PLAIN)
            throw invalid(text("an initial output is a ", kind_text(leaf.kind()), " value; it must be a plain one"));
    });
    return initial;
}

uint64_t fingerprint_of(const ValuePointer &initial) {
    if (!initial) return 0;
    std::string all = "initial";
    visit_leaves(*initial, [&](const Value &leaf, std::size_t index) {
        const Tensor &tensor = leaf.tensors()[0];
        all += text(' ', leaf_path(*initial, index), ' ', dtype_name(tensor.dtype()), tensor.shape().text());
    });
    return fnv1a(all);
}

} // namespace

Loop::Loop(std::shared_ptr<Job> job, uint64_t iterations, ValuePointer initial, uint64_t timeout_ns)
    : job_(std::move(job)),
      generation_(job_->elastic.generation()),
      iterations_(iterations),
      initial_(checked_initial(std::move(initial))),
      initial_fingerprint_(fingerprint_of(initial_)),
      timeout_ns_(timeout_ns),
      replicas_(job_->reach.view().replicas),
      parts_(job_->replicas.local_count()) {}

Turn Loop::place(Job &job) {
    return {job, "mdist_run_steps", kInStep};
}

bool Loop::run(Iterator &iterator, const Body &body) {
    const std::size_t replicas = iterator.dataset().replica_count();
    if (replicas != 0 && replicas != replicas_)
        throw invalid(text("the iterator is of a dataset that is distributed over ", replicas,
                           " local replicas, but this strategy has ", replicas_));
    for (;;) {
        job_->elastic.require_generation(generation_, "the loop");
        ValuePointer element;
        if (done_ < iterations_)
            iterator.next([&](const Element &next) { element = value_of_element(iterator.dataset(), next); });
        // If workers take elements by agreement, they already know that all of them have one.
        const bool known = element != nullptr && iterator.agrees();
        if (!known && !agree(element != nullptr)) break;
        body(element);
        collect();
        ++done_;
    }
    const Turn turn(*job_, "mdist_run_steps", kInStep);
    finish();
    return done_ == iterations_;
}

/// Whether all workers have an element. They ask once more after the last iteration, so that no worker returns success
/// while another has failed.
bool Loop::agree(bool have) const {
    const Turn turn(*job_, "mdist_run_steps", kInStep);
    job_->use.require_open();
    job_->require_sound();
    Workers *const workers = job_->workers();
    if (workers == nullptr) return have;
    const std::string limit = iterations_ == MDIST_FOREVER ? "" : text(" of ", iterations_);
    const std::string outputs = initial_ ? text(", initial outputs ", leaves_text(initial_->leaves())) : "";
    const std::string subject = text("iteration ", done_.load(), limit, outputs);
    const Call call = call_about(&calls::kRunSteps.meet, subject, fnv1a(subject) + initial_fingerprint_);
    const std::string mine(1, have ? 1 : 0);
    const Blobs all = workers->gather(call, mine, job_->comm.timeout_or_own(timeout_ns_));
    bool all_have = true;
    for (uint32_t worker = 0; worker < all.size(); ++worker) {
        if (all[worker].size() != mine.size())
            throw bad_message(worker, "bytes that do not say whether the loop continues");
        all_have = all_have && all[worker][0] != 0;
    }
    return all_have;
}

void Loop::set_object(std::string name, uint32_t local_replica, void *object) {
    if (local_replica >= replicas_)
        throw invalid(text("local_replica is ", local_replica, "; this strategy has ", replicas_));
    const std::lock_guard lock(mutex_);
    objects_.insert_or_assign({std::move(name), local_replica}, object);
}

void *Loop::object(const std::string &name, uint32_t local_replica) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find({name, local_replica});
    if (found == objects_.end())
        throw Failure(MDIST_ERR_NOT_FOUND,
                      text("no object was kept as \"", name, "\" for local replica ", local_replica));
    return found->second;
}

} // namespace mdist
