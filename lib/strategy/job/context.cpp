// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/context.h"

#include "util/failure.h"
#include "util/text.h"

#include <utility>
#include <vector>

namespace mdist {
namespace {

thread_local Context *innermost_context = nullptr;

struct Scope {
    explicit Scope(std::shared_ptr<const Job> of) : job(std::move(of)), context(*job, Context::Kind::kScope) {}
    std::shared_ptr<const Job> job;
    Context context;
};

/// The open scopes of this thread, innermost last; destroyed in that order. Separate from the context stack, which
/// every step uses and which therefore must not need a destructor.
struct Scopes : std::vector<std::unique_ptr<Scope>> {
    ~Scopes() {
        while (!empty()) pop_back();
    }
};
thread_local Scopes scopes;

} // namespace

Context::Context(const Job &job, Kind kind, uint32_t local_replica, Party *party)
    : kind_(kind), local_replica_(local_replica), job_(&job), party_(party), outer_(innermost_context) {
    innermost_context = this;
}

Context::~Context() {
    while (innermost_context != this) scopes.pop_back(); // left open by user code that has returned
    innermost_context = outer_;
}

const Context *Context::innermost() {
    return innermost_context;
}

const Context *Context::of(const Job &job) {
    const Context *context = innermost_context;
    while (context != nullptr && (context->job_ != &job || context->kind_ == Kind::kScope)) context = context->outer_;
    return context;
}

bool Context::in_part_of(const Job &job) {
    const Context *context = of(job);
    while (context != nullptr &&
           (context->job_ != &job || context->kind_ == Kind::kScope || context->kind_ == Kind::kFetch))
        context = context->outer_;
    return context != nullptr;
}

void Context::require_not_done(const char *function) {
    if (innermost_context == nullptr || innermost_context->kind_ != Kind::kDone) return;
    throw Failure(MDIST_ERR_WRONG_CONTEXT,
                  text(function, " cannot be called in a function of mdist_work_on_done, which must not wait. Wake a "
                                 "thread of the program there, and call it on that thread"));
}

bool Context::in_step() {
    return innermost_context != nullptr && innermost_context->kind_ == Kind::kReplica;
}

void enter_scope(std::shared_ptr<const Job> job) {
    if (Context::in_step())
        throw Failure(
            MDIST_ERR_WRONG_CONTEXT,
            "mdist_scope_enter cannot be called in a step. Enter the scope in the function of mdist_merge_call");
    if (innermost_context != nullptr && &innermost_context->job() != job.get())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "this thread is in the scope, or in a merge or update function, of another strategy; leave that "
                      "first: strategies do not mix")
            .reason("other_strategy");
    scopes.reserve(scopes.size() + 1);
    scopes.push_back(std::make_unique<Scope>(std::move(job)));
}

const Job *innermost_scope() {
    return !scopes.empty() && innermost_context == &scopes.back()->context ? scopes.back()->job.get() : nullptr;
}

void leave_scope() {
    scopes.pop_back();
}

void require_cross_replica(const Job &job, const char *function, const char *instead) {
    const Context *context = Context::of(job);
    if (context != nullptr && context->kind() == Context::Kind::kReplica)
        throw Failure(MDIST_ERR_WRONG_CONTEXT, text(function, " cannot be called in a step. ", instead));
}

} // namespace mdist
