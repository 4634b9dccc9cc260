// SPDX-License-Identifier: Apache-2.0
// Team: the threads under the replicas of one worker. Member 0 is whoever calls fork(); members 1 to size-1 are threads
// of the library that live as long as the team.
//
// A Fork has every member but 0 run work(member), and joins them when it goes. A member that waits inside its work (in
// a merge) does so in serve(): it takes part in further, nested forks until resume(). Only member 0 gives commands, and
// each is seen by all members before the next can be given, so one command slot is enough.
// A member's thread may be ended by its work (pthread_exit), which ends its part in the outer forks too; the next fork
// that is not nested starts a new one.
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

    /// Starts the threads; throws RESOURCE if the system refuses one.
    Team(uint32_t size, Patience patience);
    /// Stops them. No work is under way.
    ~Team();
    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;

    /// One piece of work, from the command to the last member's end.
    class Fork {
      public:
        /// `work` must stay valid as long as this, and throw nothing but a forced unwind. Throws CALLBACK where a
        /// nested fork finds a member's thread ended, RESOURCE where a new one cannot be started; nothing has run then.
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

    /// Whether a fork is under way; asked by member 0.
    bool forked() const { return forks_ != 0; }

    /// Called by member `member` (not 0): works until member 0 calls resume().
    void serve(uint32_t member);
    void resume() noexcept;

    /// Waits until members whose thread was ended by their work have left all of it; the first of them, or 0. Between
    /// forks, by member 0.
    uint32_t settle_ended() noexcept;

  private:
    enum class Command : uint8_t { kNone, kWork, kResume, kStop };
    struct alignas(64) Member {
        Team *team = nullptr;
        uint32_t index = 0;
        uint32_t seen = 0; // number of the last command taken
        bool started = false;
        std::atomic<bool> ended{false};
        pthread_t thread = {};
    };
    class Finished;

    static void *thread_main(void *member);
    void start(Member &member);
    void restart_ended();
    void stop() noexcept;
    Command take(Member &member);

    const uint32_t size_;
    const Patience patience_;
    std::unique_ptr<Member[]> members_;
    uint32_t forks_ = 0; // under way, one inside the other
    // What a fork takes on one line, what a join takes on another.
    alignas(64) Command command_ = Command::kNone;
    Fork *fork_ = nullptr; // what kWork is about
    EventCount commands_;
    alignas(64) EventCount joins_; // some fork was finished
};

} // namespace mdist
