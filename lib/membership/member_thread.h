// SPDX-License-Identifier: Apache-2.0
// MemberThread: what a Membership stands on: the thread that runs a member, and the condition on which callers wait for
// it. In a job of fixed size it ends with the membership. In an elastic job it outlives many of them. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "membership/await.h"
#include "membership/net/reactor.h"
#include "membership/store/store_service.h"
#include "membership/worker/member.h"

namespace mdist {

class MemberThread {
  public:
    /// Serves the store, if `options` say so, and begins to connect with it. In a job of fixed size it also asks for
    /// the one generation. Throws INVALID_ARGUMENT, and as StoreService and Reactor::set_listen_at().
    explicit MemberThread(const MembershipOptions &options);
    MemberThread(const MemberThread &) = delete;
    MemberThread &operator=(const MemberThread &) = delete;

    Reactor &reactor() { return reactor_; }
    std::mutex &lock() { return reactor_.lock(); }
    /// Only with the lock.
    Member &member() { return *member_; }
    /// Whoever changes the member tells its thread and all that wait.
    void changed() {
        reactor_.wake();
        changed_.notify_all();
    }
    /// Sets a function to call on the member's thread, without the lock, whenever the member was told something.
    /// nullptr: none; when that returns, no call is under way. `by`: who sets it; only the last one can take it back.
    void tell(const void *by, std::function<void()> call);
    /// Waits until ready(), which runs with the lock held. Returns false if the deadline comes first.
    bool await(std::unique_lock<std::mutex> &hold, Deadline deadline, FunctionRef<bool()> ready,
               LongWait::Describe describe) {
        return mdist::await(hold, changed_, deadline, ready, describe);
    }
    /// Waits until the member is not ASKING any more, or enough(). `operation`: the caller's, for messages. Returns
    /// false if the member's thread could not run until its deadline.
    bool wait_for_generation(std::unique_lock<std::mutex> &hold, const char *operation, FunctionRef<bool()> enough);
    /// Leaves the job. Takes a bounded time. Any number of times; without the lock.
    void leave() noexcept;

  private:
    void after_news();

    std::unique_ptr<StoreService> store_; // nullptr if this worker does not serve it
    std::mutex call_mutex_;               // held while call_ runs
    std::function<void()> call_;
    const void *told_by_ = nullptr;
    Reactor reactor_{[this] { after_news(); }};
    std::unique_ptr<Member> member_;
    std::condition_variable changed_; // used with the lock
    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_{reactor_}; // the thread ends before the members it uses, also if the constructor throws
};

} // namespace mdist
