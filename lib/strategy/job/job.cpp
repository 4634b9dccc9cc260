// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/job.h"

#include "comm/device/gpu_group.h"
#include "comm/mail/mail.h"
#include "comm/workers/workers.h"
#include "device/gpu/gpu.h"
#include "strategy/job/context.h"
#include "strategy/job/elastic_devices.h"
#include "util/text.h"

#include <utility>

namespace mdist {

bool client_has_left(const Failure &failure) {
    return failure.status() == MDIST_ERR_PEER_LOST && failure.reason() == "left" && failure.worker() == 0;
}

Job::~Job() {
    meeting_->mail->leave(); // its thread uses the workers
}

bool Job::commands() const {
    return in_graph_ && !Context::in_part_of(*this);
}

Failure Job::not_the_client(const char *function) const {
    return Failure(MDIST_ERR_WRONG_CONTEXT,
                   text(function, " may be called only by the client, worker 0 (strategy: in_graph); worker ", worker_,
                        " must call mdist_serve, which runs the client's commands"))
        .reason("in_graph");
}

Failure Job::not_a_command(const char *function, const char *instead) const {
    if (worker_ != 0) return not_the_client(function);
    return Failure(MDIST_ERR_UNSUPPORTED,
                   text(function, " cannot run on other workers' replicas (strategy: in_graph): ", instead))
        .reason("in_graph");
}

View Job::view() const {
    if (worker_ == 0 && commands()) return {0, replica_count(), 1, 0};
    return {first_replica_id(), local_replica_count(), worker_count(), worker_};
}

Device &Job::place(uint32_t replica) const {
    return replica < devices_.size() ? *devices_[replica] : *host();
}

std::string Job::place_name(uint32_t replica) const {
    if (replica < devices_.size()) return devices_[replica]->name();
    return text("worker:", spans_.worker_of(replica), "/", device_names_[replica]);
}

uint32_t Job::device_index(const std::string &name) const {
    std::string known;
    for (uint32_t replica = 0; replica < view().replicas; ++replica) {
        if (place_name(replica) == name) return replica;
        known += text(replica == 0 ? "" : ", ", place_name(replica));
    }
    throw invalid(text("destination is \"", name, "\"; the devices of this strategy are ", known));
}

Failure Job::not_concurrent(const char *function) {
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text(function,
                        " in a step needs executor: threads; with executor: caller the replicas run one after "
                        "another, so reduce between runs (mdist_strategy_all_reduce, mdist_strategy_reduce)"))
        .reason("executor_caller");
}

void Job::require_sound() const {
    if (joining_)
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            "this worker is a newcomer to a job that is at work, and has not entered it yet. Create everything "
            "that the job has, then call mdist_regroup")
            .reason("joining");
    if (meeting_->group.failed()) throw meeting_->group.ended(false);
}

void Job::check_health() const {
    if (const auto cause = end_of_collectives()) throw Failure(*cause);
}

std::optional<Failure> Job::end_of_collectives() const {
    const std::lock_guard lock(meeting_mutex_);
    if (meeting_->group.failed()) return meeting_->group.cause().value_or(Failure(MDIST_ERR_ABORTED, "aborted"));
    // Another thread may be about to tell the group. A call may have told the program already.
    if (!workers_ || !workers_->membership().failed()) return std::nullopt;
    const std::optional<Failure> cause = workers_->membership().failure();
    return cause ? std::optional(as_told(*cause)) : std::nullopt;
}

Failure Job::as_told(const Failure &cause) const {
    if (!in_graph_ || !client_has_left(cause)) return cause;
    return Failure(MDIST_ERR_ABORTED, "the client has left").reason("left").worker(0);
}

Failure Job::of_old_generation(const char *what, uint32_t generation) const {
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text(what, " belongs to generation ", generation, " of the job, which is now at generation ",
                        generation_, ". Make a new one after mdist_regroup"))
        .reason("old_generation");
}

Failure Job::of_failed_regroup(const std::string &what) const {
    return Failure(MDIST_ERR_FAILED_PRECONDITION,
                   text("mdist_regroup has failed, and ", what, " has no memory for the ", local_replica_count(),
                        " local replicas that this worker was to have. It is out of the job; start a new process"))
        .reason("regroup_failed");
}

void Job::require_open() const {
    if (closed_) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the strategy was destroyed").reason("destroyed");
}

void Job::finish_devices() const {
    for (const auto &device : devices_) device->finish();
}

Memory Job::allocate_shared(uint32_t local, std::size_t bytes) {
    Device &own = device(local);
    if (own.gpu() != nullptr) return own.gpu()->allocate_zeros(bytes);
    if (memory_) {
        try {
            return memory_->allocate(bytes);
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_OUT_OF_MEMORY) throw;
        }
    }
    Memory memory = own.allocate(bytes);
    own.zero(memory.get(), bytes);
    return memory;
}

Workers *Job::workers() {
    Workers *const others = other_workers();
    return view().workers == 1 ? nullptr : others;
}

Workers *Job::other_workers() {
    if (worker_count() == 1) return nullptr;
    require_open();
    require_sound();
    return workers_.get();
}

std::shared_ptr<ReplicaGroup> Job::next_group(std::size_t &at) const noexcept {
    const std::lock_guard lock(groups_mutex_);
    while (at < groups_.size())
        if (std::shared_ptr<ReplicaGroup> group = groups_[at++].lock()) return group;
    return nullptr;
}

void Job::add(const std::shared_ptr<ReplicaGroup> &group) {
    const std::lock_guard lock(groups_mutex_);
    std::erase_if(groups_, [](const auto &each) { return each.expired(); });
    groups_.push_back(group);
    has_groups_.store(true, std::memory_order_release);
}

void Job::keep(const std::shared_ptr<Workers> &workers) {
    const std::lock_guard lock(groups_mutex_);
    group_workers_.push_back(workers);
}

void Job::drop_unused() noexcept {
    const std::lock_guard lock(groups_mutex_);
    std::erase_if(group_workers_, [](const auto &each) { return each.use_count() == 1; });
}

namespace {

Failure told_by(const char *function, const Failure &failure) noexcept {
    Failure told = Failure(failure).about(function);
    if (told.operation().empty()) std::move(told).operation(function);
    return told;
}

} // namespace

void Job::fail_workers(const char *function, const Failure &failure) noexcept {
    if (worker_count() != 1 && !group().failed()) group().fail(told_by(function, failure));
}

uint64_t Job::operations_entered() const {
    return workers_ ? workers_->group().entered() : 0;
}

bool Job::all_refuse(const char *function, const Failure &failure) noexcept {
    if (!workers_ || group().failed()) return false;
    try {
        const Failure told = told_by(function, failure);
        workers_->meet(refusal_of(function, told), timeout_or_own(0));
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void Job::abort() noexcept {
    fail("mdist_strategy_abort was called", "aborted");
}

void Job::fail(const char *sentence, const char *reason) noexcept {
    {
        const std::lock_guard lock(meeting_mutex_);
        group().fail(Failure(MDIST_ERR_ABORTED, sentence).reason(reason));
    }
    changes_.advance();
}

void Job::begin_close() noexcept {
    // Each side writes its own flag before it reads the other's flag, so at least one of them sees both.
    closed_ = true;
    // A thread that has the turn stops the team when it is done.
    if (busy_ || open_runs_ != 0) fail("the strategy was destroyed", "destroyed");
}

void Job::stop_if_free() noexcept {
    std::unique_ptr<Team> team;
    {
        const std::lock_guard lock(stop_mutex_);
        if (busy_ || open_runs_ != 0 || std::exchange(stopped_, true)) return;
        team = std::move(team_); // null if a regroup had no threads for one
    }
    meeting_->mail->leave();
    if (workers_) workers_->leave();
    {
        const std::lock_guard groups_lock(groups_mutex_);
        for (const auto &workers : group_workers_) workers->leave();
    }
    if (elastic_membership_) elastic_membership_->leave();
    stopped();
}

} // namespace mdist
