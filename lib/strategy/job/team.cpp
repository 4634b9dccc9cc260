// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/team.h"

#include "util/failure.h"
#include "util/text.h"
#include "util/thread.h"

#include <cstdio>

namespace mdist {

/// Counts a member's work as done, even if a forced unwind ends its thread. The fork may be destroyed as soon as the
/// last member has counted.
class Team::Finished {
  public:
    Finished(Fork &fork, Member &member) : fork_(fork), member_(member), team_(*member.team) {}
    ~Finished() {
        if (!returned) member_.ended.store(true, std::memory_order_relaxed);
        member_.forks.fetch_sub(1, std::memory_order_relaxed);
        if (fork_.under_way_.fetch_sub(1, std::memory_order_acq_rel) == 1) team_.joins_.advance();
    }
    bool returned = false;

  private:
    Fork &fork_;
    Member &member_;
    Team &team_;
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
    char name[16];
    std::snprintf(name, sizeof name, "mdist %u", member.index);
    const int failed = start_thread(&member.thread, thread_main, &member, name);
    if (failed != 0)
        throw Failure(MDIST_ERR_RESOURCE, text("cannot start the thread of local replica ", member.index,
                                               "; see the limits on threads of this user or container"))
            .native(failed);
    member.started = true;
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
    while (member.team->take(member, false) != Command::kStop) {
    }
    return nullptr;
}

/// Waits for the next command. If it is work, does the work.
Team::Command Team::take(Member &member, bool merging) {
    LongWait long_wait;
    const auto describe = [&]() -> WaitText {
        if (member.index != 1) return {}; // only one member reports it
        return {"local replica 1", "a merge", "local replica 0, whose merge function has not returned"};
    };
    if (merging)
        commands_.wait(member.seen, patience_, kNoDeadline, long_wait, describe);
    else
        commands_.wait(member.seen, patience_, kNoDeadline);
    ++member.seen;
    const Command command = command_;
    if (command == Command::kWork) {
        Fork &fork = *fork_;
        Finished finished(fork, member);
        fork.work_(member.index);
        finished.returned = true;
    }
    return command;
}

void Team::restart_ended() {
    for (uint32_t i = 1; i < size_; ++i) {
        Member &member = members_[i];
        if (member.started && !member.ended.load(std::memory_order_relaxed)) continue;
        if (forked())
            throw Failure(MDIST_ERR_CALLBACK, text("the thread of local replica ", i, " was ended by its step"))
                .replica(i);
        if (member.started) pthread_join(member.thread, nullptr);
        member.started = false;
        start(member);
    }
}

uint32_t Team::settle_ended() noexcept {
    uint32_t first = 0;
    for (uint32_t i = size_ - 1; i >= 1; --i) {
        Member &member = members_[i];
        if (!member.ended.load(std::memory_order_relaxed)) continue;
        if (member.started) pthread_join(member.thread, nullptr);
        member.started = false;
        first = i;
    }
    return first;
}

Team::Fork::Fork(Team &team, const Work &work) : team_(team), work_(work), under_way_(team.size_ - 1) {
    team.restart_ended();
    ++team.forks_;
    if (team.size_ == 1) return;
    for (uint32_t i = 1; i < team.size_; ++i) team.members_[i].forks.fetch_add(1, std::memory_order_relaxed);
    team.fork_ = this;
    team.command_ = Command::kWork;
    team.commands_.advance();
}

Team::Fork::~Fork() {
    LongWait long_wait;
    for (;;) {
        const uint32_t seen = team_.joins_.now();
        if (under_way_.load(std::memory_order_acquire) == 0) break;
        team_.joins_.wait(seen, team_.patience_, kNoDeadline, long_wait, [this] { return team_.waiting_for_steps(); });
    }
    --team_.forks_;
}

WaitText Team::waiting_for_steps() const {
    std::string whom;
    for (uint32_t i = 1; i < size_; ++i)
        if (members_[i].forks.load(std::memory_order_relaxed) == forks_)
            whom += text(whom.empty() ? "local replica " : ", ", i);
    return {"local replica 0", "mdist_run, after its own step,", text(whom, ", whose step has not returned")};
}

void Team::serve(uint32_t member) {
    while (take(members_[member], true) != Command::kResume) {
    }
}

void Team::resume() noexcept {
    if (size_ == 1) return;
    command_ = Command::kResume;
    commands_.advance();
}

} // namespace mdist
