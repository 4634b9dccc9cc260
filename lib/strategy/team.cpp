// SPDX-License-Identifier: Apache-2.0
#include "strategy/team.h"

#include "util/failure.h"
#include "util/text.h"

#include <csignal>

namespace mdist {

/// Counts a member's work as done however it is left, also by a forced unwind that ends its thread.
class Team::Finished {
  public:
    Finished(Team &team, Member &member) : team_(team), member_(member) {}
    ~Finished() {
        if (!returned) member_.ended.store(true, std::memory_order_relaxed);
        if (team_.finished_.fetch_add(1, std::memory_order_acq_rel) + 2 == team_.size_) team_.joins_.advance();
    }
    bool returned = false;

  private:
    Team &team_;
    Member &member_;
};

Team::Team(uint32_t size, Patience patience) : size_(size), patience_(patience), members_(new Member[size]) {
    for (uint32_t i = 0; i < size; ++i) {
        members_[i].team = this;
        members_[i].index = i;
    }
    try {
        for (uint32_t i = 1; i < size; ++i) start(members_[i]);
    } catch (...) {
        stop();
        throw;
    }
}

Team::~Team() {
    stop();
}

void Team::start(Member &member) {
    member.seen = commands_.now();
    member.ended.store(false, std::memory_order_relaxed);
    // Signals belong to the program: its handlers must not run on threads it does not know of.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&member.thread, nullptr, thread_main, &member);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed != 0)
        throw Failure(MDIST_ERR_RESOURCE, text("cannot start the thread of local replica ", member.index,
                                               "; see the limits on threads of this user or container"))
            .native(failed);
    member.started = true;
    pthread_setname_np(member.thread, text("mdist ", member.index).c_str());
}

void Team::stop() noexcept {
    command_ = Command::kStop;
    commands_.advance();
    for (uint32_t i = 1; i < size_; ++i) {
        if (members_[i].started) pthread_join(members_[i].thread, nullptr);
        members_[i].started = false;
    }
}

void *Team::thread_main(void *argument) {
    Member &member = *static_cast<Member *>(argument);
    while (member.team->take(member) != Command::kStop) {
    }
    return nullptr;
}

/// Waits for the next command and, if it is work, does it.
Team::Command Team::take(Member &member) {
    commands_.wait(member.seen, patience_, kNoDeadline);
    ++member.seen;
    const Command command = command_;
    if (command == Command::kWork) {
        Finished finished(*this, member);
        (*work_)(member.index);
        finished.returned = true;
    }
    return command;
}

void Team::restart_ended(bool nested) {
    for (uint32_t i = 1; i < size_; ++i) {
        Member &member = members_[i];
        if (member.started && !member.ended.load(std::memory_order_relaxed)) continue;
        if (nested)
            throw Failure(MDIST_ERR_CALLBACK, text("the thread of local replica ", i, " was ended by its step"))
                .replica(static_cast<int32_t>(i));
        if (member.started) pthread_join(member.thread, nullptr);
        member.started = false;
        start(member);
    }
}

void Team::fork(const Work &work, bool nested) {
    restart_ended(nested);
    if (size_ == 1) return;
    work_ = &work;
    command_ = Command::kWork;
    finished_.store(0, std::memory_order_relaxed);
    joins_seen_ = joins_.now();
    commands_.advance();
}

void Team::join() noexcept {
    if (size_ > 1) joins_.wait(joins_seen_, patience_, kNoDeadline);
}

void Team::serve(uint32_t member) {
    while (take(members_[member]) != Command::kResume) {
    }
}

void Team::resume() noexcept {
    if (size_ == 1) return;
    command_ = Command::kResume;
    commands_.advance();
}

} // namespace mdist
