// SPDX-License-Identifier: Apache-2.0
// Team: the threads that run the replicas of one worker. Member 0 is the thread that calls fork(). Members 1 to size-1
// are threads of the library; they live as long as the team.
//
// A Fork makes every member but 0 run work(member). Its destructor waits for them. A member that waits inside its work
// (in a merge) calls serve(): it takes part in nested forks until resume(). Only member 0 gives commands. All members
// see each command before the next can be given, so one command slot is enough.
// Work may end its thread (pthread_exit). This also ends the member's part in the outer forks. The next fork that is
// not nested starts a new thread.
#pragma once

#include "util/event_count.h"
#include "util/function_ref.h"

#include <atomic>
#include <cstdint>
#include <memory>

#include <pthread.h>

namespace mdist {

class Team {
  public:
    using Work = FunctionRef<void(uint32_t member)>;

    /// Starts the threads. Throws RESOURCE if the system refuses one.
    Team(uint32_t size, Patience patience);
    /// Stops the threads. No work may be under way.
    ~Team();
    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;

    /// One piece of work, from the command until the last member is done.
    class Fork {
      public:
        /// `work` must stay valid as long as this object, and must throw nothing but a forced unwind. Throws CALLBACK
        /// if a nested fork finds a member's thread ended, and RESOURCE if a new thread cannot be started. In both
        /// cases no member runs the work.
        Fork(Team &team, const Work &work);
        /// Waits for all members.
        ~Fork();
        Fork(const Fork &) = delete;
        Fork &operator=(const Fork &) = delete;

      private:
        friend class Team;
        Team &team_;
        const Work &work_;
        std::atomic<uint32_t> under_way_;
    };

    /// Runs one fork, in which the caller does member 0's part.
    void run(const Work &work) {
        const Fork fork(*this, work);
        work(0);
    }

    /// Whether a fork is under way. Called by member 0.
    bool forked() const { return forks_ != 0; }

    /// Does work as member `member` (not 0) until member 0 calls resume().
    void serve(uint32_t member);
    void resume() noexcept;

    /// Waits until members whose thread was ended by their work have left all forks. Returns the first of them, or 0.
    /// Called by member 0 between forks.
    uint32_t settle_ended() noexcept;

  private:
    enum class Command : uint8_t { kNone, kWork, kResume, kStop };
    struct alignas(64) Member {
        Team *team = nullptr;
        uint32_t index = 0;
        uint32_t seen = 0; // number of the last command taken
        bool started = false;
        std::atomic<bool> ended{false};
        std::atomic<uint32_t> forks{0}; // that it works in, nested
        pthread_t thread = {};
    };
    class Finished;

    static void *thread_main(void *member);
    void start(Member &member);
    void restart_ended();
    void stop() noexcept;
    Command take(Member &member, bool merging);
    WaitText waiting_for_steps() const;

    const uint32_t size_;
    const Patience patience_;
    std::unique_ptr<Member[]> members_;
    uint32_t forks_ = 0; // under way, nested
    // What a fork writes and what a join writes are on separate cache lines.
    alignas(64) Command command_ = Command::kNone;
    Fork *fork_ = nullptr; // the work of kWork
    EventCount commands_;
    alignas(64) EventCount joins_; // notified when a fork is finished
};

} // namespace mdist
