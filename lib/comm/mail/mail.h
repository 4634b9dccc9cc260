// SPDX-License-Identifier: Apache-2.0
// Mail: the messages that replicas send each other one by one, beside the collectives.
//
// Replicas of one worker copy from the sender's buffer to the receiver's. Between workers a Carrier moves the bytes. A
// message of up to Carrier::kSmallBytes does not wait for its receiver: the library keeps it, up to kWaiting of them
// for each pair of replicas. Any other send is done when the receiver has the bytes.
//
// Who does the work: the call that comes second copies, within one worker. Bytes between workers are moved by a thread
// that waits in a call here (one at a time carries, for all), or, if nobody waits while something is under way, by a
// thread of the library.
//
// How a post ends: it is done, or the group ends (a failure anywhere, a timeout, an abort), or its step does. The
// group's first cause is what callers get. With several workers every failure ends the job; then the carrier is closed,
// so that no memory is in use, before any call returns.
//
// A program may ask to be called when a post is over (DoneCalls). Each call below, and the thread of the library, makes
// those calls once it holds no lock. They also notice posts with such listeners whose time or group is over.
//
// Any thread may call the functions. The group and the workers outlive this object's use of them.
#pragma once

#include "comm/local/group.h"
#include "comm/mail/carrier.h"
#include "comm/mail/waits.h"
#include "comm/workers/workers.h"

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <pthread.h>

namespace mdist {

/// MISMATCH: sender and receiver do not agree.
Failure mail_mismatch(const MailKey &key, const MailForm &sent, const MailForm &received);

/// A run, as messages see it. Its address stays valid, and stands for later runs of the same depth, too.
struct MailRun {
    std::atomic<uint64_t> number{0};           // 0: not open
    std::unique_ptr<std::atomic<bool>[]> left; // by local replica: its step is over
};

class Mail final : public Carrier::Desk {
  public:
    /// How many small messages from one replica to another may wait for their receiver.
    static constexpr uint32_t kWaiting = 16;
    /// The most posts that a replica may have started.
    static constexpr std::size_t kMostStarted = 1024;

    Mail(Group &group, Patience patience);
    ~Mail() override;
    Mail(const Mail &) = delete;
    Mail &operator=(const Mail &) = delete;
    /// Says that the job has other workers. Call before any run.
    void set_workers(Workers &workers);
    /// Hands over what small messages are still on their way, and uses the workers no more. No run is open. Takes a
    /// bounded time.
    void leave() noexcept;

    // ---- Runs. A replica may be in several, nested; all but the innermost are then in a merge.

    /// Begins a run. The runs of all workers are counted alike.
    MailRun &begin_run();
    void end_run(MailRun &run) noexcept;
    /// Says that the step of a local replica is over. What it has started and not waited for fails with `cause(post)`.
    /// Returns true if there was such, and when no listener runs on another thread.
    bool end_step(uint32_t party, MailRun &run, FunctionRef<Failure(const Post &)> cause) noexcept;

    // ---- Posts

    /// Whether a replica has made a post since the outermost run began.
    bool used() const { return used_.load(std::memory_order_relaxed); }
    uint32_t replicas() const { return spans_.replicas(); }
    /// Posts it and returns. Throws what the blocking form would throw before it waits; then it is not posted.
    void start(Post &post);
    /// Posts it and returns when it is over. Throws why it failed; then nobody uses the memory.
    void call(Post &post);
    /// Moves on what can be moved, and says whether the post is over. Throws why it failed.
    bool test(Post &post);
    /// Waits for `timeout_ns` at most; the post's own timeout ends it. Throws why it failed.
    bool wait(Post &post, uint64_t timeout_ns);
    /// A new descriptor of the post's alarm.
    int descriptor(Post &post);
    /// Calls `function` with the post's status when it is over. With other workers, a thread of the library may do so.
    void when_over(Post &post, std::function<void(mdist_status_t)> function);
    /// Keeps `owner`, which the post belongs to, until the post is over and its replica's step as well. For a post that
    /// nobody asks about any more, and that goes on.
    void keep(const Post &post, std::shared_ptr<void> owner);
    /// Ends a post that nobody waits for any more. If it is not over, it fails with `cause`, and so does the step.
    void settle(Post &post, const Failure &cause) noexcept;

  private:
    using Lock = std::unique_lock<std::mutex>;
    /// A message that waits for its receiver.
    struct Message {
        MailKey key;
        MailForm form;
        Post *send = nullptr;                    // of a replica of this worker
        Post *receive = nullptr;                 // took it before all bytes were there
        uint32_t worker = 0;                     // of its sender
        uint32_t number = 0;                     // of an offer of that worker; 0: none
        std::unique_ptr<char[]> bytes = nullptr; // of a small one
        bool complete = true;
    };
    using Messages = std::list<Message>;
    /// What is on its way from one worker.
    struct Landing {
        Post *receive = nullptr;
        Message *message = nullptr;
    };
    /// An offer of another worker that a receive has taken.
    struct Accepted {
        uint32_t worker;
        uint32_t number;
        Post *receive;
    };
    struct Kept {
        const Post *post;
        std::shared_ptr<void> owner;
    };
    static constexpr uint32_t kReturned = 8; // small messages per CREDIT
    /// Between a local replica and any one.
    struct Pair {
        uint32_t may_send = kWaiting + kReturned - 1; // small messages to it
        uint32_t taken = 0;                           // from it, since the last CREDIT
    };
    /// In place of a party: the library's thread.
    static constexpr uint32_t kThread = UINT32_MAX;

    // mail.cpp: matching
    bool send_now(Post &post);
    void enter(Post &post);
    void post_send(Post &post, Lock &lock);
    void post_receive(Post &post, Lock &lock);
    void take(Messages::iterator message, Post &receive, Lock &lock);
    void copy(Post &other, char *to, const char *from, std::size_t bytes, Lock &lock);
    Post *take_receive(const MailKey &key, const MailForm &form);
    Message &add(Message message);
    Messages::iterator forget(Messages::iterator message);
    void received_small(const MailKey &key);
    void count(Post &post);
    void finish(Post &post) noexcept { end(post, nullptr); }
    void end(Post &post, const Failure *cause) noexcept;
    void withdraw(Post &post, Lock &lock) noexcept;

    // waiting.cpp: waiting, carrying and failing
    /// While it lives, a thread waits, and carries if need be. The destructor undoes what must be undone, however the
    /// wait ends. Holds no lock.
    struct Waiting {
        Mail &mail;
        std::optional<Waits::Wait> told;
        explicit Waiting(Mail &of);
        ~Waiting();
    };
    bool wait(Post &post, uint64_t timeout_ns, uint64_t begin, Waiting &waiting);
    bool result(const Post &post) const;
    void end_with_group(Post &post);
    void end_with_group(Post &post, Lock &lock) noexcept;
    void fail_late(const Post &post) noexcept;
    bool carry_a_while(const Post &post, uint64_t left_ns);
    void carry_now(Lock &lock, uint32_t whom, uint64_t sleep_ns);
    void move(Lock &lock, uint64_t sleep_ns);
    void hand_on_carrying() noexcept;
    void leave_carrying() noexcept;
    void wake_waiters() noexcept;
    void wake_all() noexcept;
    void fail(const Failure &cause) noexcept;
    Failure late(const Post &post) const noexcept;
    std::string chain(const Post &post) const;
    static Waits::Wait wait_of(const Post &post);
    std::optional<Waits::Wait> wait_of(uint32_t replica) const;
    void note_wait(const Waits::Wait &wait, bool over) noexcept;
    uint64_t deadline(const Post &post) const;
    WaitText waiting(const Post &post) const;

    // thread.cpp
    void need_thread();
    static void *thread_main(void *self);
    void serve();

    // listening.cpp: posts that the program wants to be told of
    /// Makes a call notice such posts when it returns. Declare it before a lock.
    struct Noticing {
        Mail &mail;
        ~Noticing() { mail.notice(); }
    };
    void notice() noexcept {
        if (listening_.load(std::memory_order_acquire) != 0) end_overdue();
        done_.make();
    }
    void end_overdue() noexcept;
    Post *overdue() const;
    void drop_kept(Lock &lock) noexcept;

    // steps.cpp: the ends of steps
    bool has_left(uint32_t replica, uint64_t run) const;
    Failure left_with_message(const MailKey &key, const MailForm &form) const;
    Failure left_awaited(const Post &post) const;
    void require_here(const Post &post) const;
    Post *started_in(uint32_t party, uint64_t run) const;
    bool end_posts(uint32_t party, const MailRun &run, FunctionRef<Failure(const Post &)> cause) noexcept;
    std::optional<Failure> look_for_left(uint32_t party, uint64_t run);
    void told(uint32_t worker, const std::string &notice) noexcept;
    void tell_left(uint32_t replica, uint64_t run, uint32_t worker);

    // remote.cpp: other workers
    char *place(uint32_t worker, const MailSlip &slip) override;
    void arrived(uint32_t worker, const MailSlip &slip) override;
    void sent(Post &post) override { finish(post); }
    void accept(uint32_t worker, uint32_t number, Post &receive);
    void offered(uint32_t worker, const MailSlip &slip);
    void accepted(uint32_t worker, const MailSlip &slip);
    void landed(uint32_t worker, const MailSlip &slip);
    void left(const MailSlip &slip);
    void check_slip(uint32_t worker, const MailSlip &slip) const;

    bool is_local(uint32_t replica) const { return spans_[self_].has(replica); }
    uint32_t local(uint32_t replica) const { return replica - spans_[self_].first; }
    Pair &pair(uint32_t local_replica, uint32_t other) {
        return pairs_[static_cast<std::size_t>(local(local_replica)) * replicas() + other];
    }

    Group &group_;
    const Patience patience_;
    Spans spans_;
    uint32_t self_ = 0;
    Workers *workers_ = nullptr;
    std::unique_ptr<EventCount[]> news_; // by party: one of its posts is over, or there is something else to look at
    std::atomic<uint32_t> waiters_{0};
    /// Counts posts that are not over, messages, kept owners, and waits of others for this worker's replicas: what the
    /// end of a step must look at. It goes up before the counting side looks whether a replica has left; a replica that
    /// leaves says so first, and then looks here. So one of the two sees the other.
    std::atomic<uint64_t> open_{0};
    std::atomic<std::size_t> listening_{0}; // posts with listeners that are not over
    // Of the thread with the turn, so that a run without messages takes no lock. Others look at last_run_ and the runs'
    // numbers in has_left().
    std::size_t depth_ = 0;
    std::atomic<uint64_t> last_run_{0};
    std::atomic<bool> used_{false};
    std::atomic<bool> untidy_{false}; // the end of a run has something to clear away; goes up with the mutex held
    DoneCalls done_;

    mutable std::mutex mutex_; // guards what follows
    std::condition_variable moved_;
    std::vector<std::unique_ptr<MailRun>> runs_; // the first depth_ are open, innermost last
    bool forgot_ = false;                        // messages of a failed run
    std::vector<std::list<Post *>> receives_;    // by receiving party, in the order of their calls
    std::vector<Messages> messages_;             // the same
    std::vector<std::list<Post *>> started_;     // by party: started and not over
    std::list<Kept> kept_;
    std::vector<Pair> pairs_;
    Waits waits_;
    std::vector<Waits::Wait> awaits_us_; // of replicas of other workers, for local ones

    std::unique_ptr<Carrier> carrier_; // nullptr: there are no other workers
    bool carrying_ = false;            // some thread moves bytes
    uint32_t carries_for_ = kThread;
    bool asleep_ = false;      // that thread sleeps in the link
    bool turned_away_ = false; // another thread wanted to carry meanwhile
    uint32_t last_number_ = 0;
    std::list<Post *> offered_; // to other workers
    std::list<Accepted> accepted_;
    std::vector<Landing> landing_;                              // by worker
    std::vector<std::pair<uint32_t, uint64_t>> left_elsewhere_; // replicas of other workers, and the run they have left

    pthread_t thread_ = {};
    bool has_thread_ = false;
    bool stop_ = false;
    std::condition_variable work_for_thread_;
};

} // namespace mdist
