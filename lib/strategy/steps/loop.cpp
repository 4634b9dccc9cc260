// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/loop.h"

#include "comm/workers.h"
#include "data/iterator.h"
#include "strategy/context.h"
#include "strategy/values/element.h"
#include "strategy/values/structure.h"
#include "util/callback.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <functional>

namespace mdist {
namespace {

constexpr const char *kInStep = "mdist_merge_call first, and loop inside the merge";

ValuePointer checked_initial(ValuePointer initial) {
    if (!initial) return initial;
    if (!initial->is_structure())
        throw invalid("initial is no structure, and an output has a path; make it one by mdist_value_structure");
    visit_leaves(*initial, [](const Value &leaf, std::size_t) {
        leaf.check_whole();
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
    return std::hash<std::string>()(all);
}

} // namespace

Loop::Loop(std::shared_ptr<Strategy> strategy, uint64_t iterations, ValuePointer initial, uint64_t timeout_ns)
    : strategy_(std::move(strategy)),
      iterations_(iterations),
      initial_(checked_initial(std::move(initial))),
      initial_fingerprint_(fingerprint_of(initial_)),
      timeout_ns_(timeout_ns),
      replicas_(strategy_->span().replicas),
      parts_(strategy_->local_replica_count()) {}

void Loop::require_place(Strategy &strategy) {
    const Turn turn(strategy, "mdist_run_steps", kInStep);
}

bool Loop::run(Iterator &iterator, const Body &body) {
    const std::size_t replicas = iterator.dataset().replica_count();
    if (replicas != 0 && replicas != replicas_)
        throw invalid(text("the iterator is of a dataset that is distributed over ", replicas,
                           " local replicas, and this strategy has ", replicas_));
    for (;;) {
        ValuePointer element;
        if (done_ < iterations_)
            iterator.next([&](const Element &next) { element = value_of_element(iterator.dataset(), next); });
        // Where workers take elements together, they know already that all of them have one.
        const bool known = element != nullptr && iterator.agrees();
        if (!known && !agree(element != nullptr)) break;
        const int32_t code = body(element);
        if (code != 0) throw callback_returned("the loop's function", code);
        collect();
        ++done_;
    }
    const Turn turn(*strategy_, "mdist_run_steps", kInStep);
    finish();
    return done_ == iterations_;
}

/// Whether all workers have an element. They ask each other once more when they have done them all, so that none is
/// content while another has failed.
bool Loop::agree(bool have) const {
    const Turn turn(*strategy_, "mdist_run_steps", kInStep);
    strategy_->require_open();
    strategy_->require_sound();
    Workers *const workers = strategy_->workers();
    if (workers == nullptr) return have;
    const std::string limit = iterations_ == MDIST_FOREVER ? "" : text(" of ", iterations_);
    const std::string outputs = initial_ ? text(", initial outputs ", leaves_text(initial_->leaves())) : "";
    const std::string subject = text("iteration ", done_.load(), limit, outputs);
    Call call;
    call.kind = CallKind::kRunSteps;
    call.subject = std::hash<std::string>()(subject) + initial_fingerprint_;
    call.subject_text = subject.c_str();
    const char mine = have ? 1 : 0;
    const Workers::Blobs all = workers->gather(call, &mine, sizeof mine, strategy_->timeout_or_own(timeout_ns_));
    return std::all_of(all.begin(), all.end(), [](const std::vector<char> &theirs) { return theirs.at(0) != 0; });
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
