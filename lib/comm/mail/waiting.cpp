// SPDX-License-Identifier: Apache-2.0
// Waiting for a post, carrying bytes meanwhile, and failing.
#include "comm/mail/mail.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

constexpr uint64_t kLongestSleep = 100'000'000; // the most that a lost wake can cost
/// A wait longer than this, or than a quarter of its limit, is told to the other workers.
constexpr uint64_t kToldAfter = 50'000'000;

} // namespace

Mail::Waiting::Waiting(Mail &of) : mail(of) {
    mail.waiters_.fetch_add(1, std::memory_order_seq_cst);
}

Mail::Waiting::~Waiting() {
    mail.notice();
    mail.waiters_.fetch_sub(1, std::memory_order_seq_cst);
    if (told) mail.note_wait(*told, true);
    mail.leave_carrying();
}

void Mail::call(Post &post) {
    if (send_now(post)) return;
    Waiting waiting(*this);
    enter(post);
    if (!result(post)) wait(post, kNoDeadline, post.posted_ns, waiting);
}

bool Mail::result(const Post &post) const {
    if (!post.over.load(std::memory_order_acquire)) return false;
    if (post.failure) throw Failure(*post.failure);
    return true;
}

/// The limit runs from the call; once the other side has come, from the last progress that somebody saw. That of the
/// whole call always runs from the call.
uint64_t Mail::deadline(const Post &post) const {
    uint64_t since_ns = post.posted_ns;
    if (post.met.load(std::memory_order_acquire)) {
        const uint64_t moved = carrier_->link().moved(spans_.worker_of(post.other()));
        if (post.moved.load() != moved) {
            post.moved_ns.store(monotonic_clock().now_ns()); // first: whoever sees the progress sees its time
            post.moved.store(moved);
        }
        since_ns = post.moved_ns.load();
    }
    const auto after = [](uint64_t begin, uint64_t limit) { return begin + std::min(limit, kNoDeadline - begin); };
    return std::min(after(since_ns, post.timeout_ns), after(post.posted_ns, group_.call_timeout()));
}

void Mail::end_with_group(Post &post) {
    Lock lock(mutex_);
    end_with_group(post, lock);
}

/// Ends a post whose group has ended.
void Mail::end_with_group(Post &post, Lock &lock) noexcept {
    const Failure cause = group_.ended(true);
    withdraw(post, lock);
    if (!post.over) end(post, &cause);
}

bool Mail::wait(Post &post, uint64_t timeout_ns) {
    if (result(post)) return true;
    Waiting waiting(*this);
    return wait(post, timeout_ns, monotonic_clock().now_ns(), waiting);
}

bool Mail::wait(Post &post, uint64_t timeout_ns, uint64_t begin, Waiting &waiting) {
    const uint64_t tell_at = post.posted_ns + std::min(kToldAfter, post.timeout_ns / 4);
    LongWait long_wait(post.posted_ns);
    for (uint64_t now = begin;; now = monotonic_clock().now_ns()) {
        const uint32_t seen = news_[post.party].now();
        if (result(post)) return true;
        if (!group_.ready()) {
            end_with_group(post);
            continue;
        }
        if (now >= deadline(post)) {
            fail_late(post);
            continue;
        }
        if (now - begin >= timeout_ns) return false;
        if (now >= tell_at && !waiting.told) note_wait(*(waiting.told = wait_of(post)), false);
        if (now >= long_wait.next_ns()) long_wait.look([&] { return this->waiting(post); });
        uint64_t until = std::min({deadline(post), long_wait.next_ns(), now + kLongestSleep});
        if (!waiting.told) until = std::min(until, tell_at);
        const uint64_t left = std::min(until - std::min(now, until), timeout_ns - (now - begin));
        if (!carry_a_while(post, left)) news_[post.party].wait(seen, patience_, left);
        if (result(post)) return true; // before the look at the clock, which takes as long as a lock
        notice();
    }
}

bool Mail::test(Post &post) {
    if (result(post)) return true;
    const Noticing noticing{*this};
    if (!group_.ready()) {
        end_with_group(post);
        return result(post);
    }
    const uint64_t now = monotonic_clock().now_ns();
    if (now >= deadline(post)) {
        fail_late(post);
        end_with_group(post);
        return result(post);
    }
    Lock lock(mutex_);
    if (post.alarm && !post.over) post.alarm->set(deadline(post)); // whatever comes from now on rings it
    if (carrier_ && carrier_->busy()) carry_now(lock, post.party, 0);
    if (post.alarm && !group_.ready()) post.alarm->ring();
    return result(post);
}

int Mail::descriptor(Post &post) {
    const Lock lock(mutex_);
    if (!post.alarm) {
        auto alarm = std::make_unique<Alarm>();
        if (post.over) {
            alarm->ring();
        } else {
            alarm->set(deadline(post));
            group_.add(*alarm);
            if (!group_.ready()) alarm->ring();
        }
        post.alarm = std::move(alarm);
    }
    return post.alarm->duplicate();
}

void Mail::settle(Post &post, const Failure &cause) noexcept {
    const Noticing noticing{*this};
    {
        const Lock lock(mutex_); // a thread that ends it may still be ringing its alarm
        if (post.over) return;
    }
    group_.release(cause);
    Lock lock(mutex_);
    withdraw(post, lock);
    if (!post.over) end(post, &cause);
}

// ---- Carrying

/// Carries for all, if nobody else does, until the post is over or something is to be looked at. Returns false if there
/// is nothing to carry, or another thread does it.
bool Mail::carry_a_while(const Post &post, uint64_t left_ns) {
    if (!carrier_) return false;
    Lock lock(mutex_);
    if (post.over) return true;
    if (carrying_ || carrier_->closed() || !carrier_->busy()) {
        if (asleep_ && carries_for_ == kThread) carrier_->link().interrupt(); // its turn is over
        turned_away_ = true;
        return false;
    }
    carry_now(lock, post.party, left_ns);
    return true;
}

/// Moves what can be moved, and before that sleeps until there is something. If another thread carries, makes it look.
void Mail::carry_now(Lock &lock, uint32_t whom, uint64_t sleep_ns) {
    if (carrier_->closed()) return;
    if (carrying_) {
        if (asleep_) carrier_->link().interrupt();
        return;
    }
    carrying_ = true;
    carries_for_ = whom;
    std::optional<Failure> trouble;
    try {
        move(lock, sleep_ns);
        while (carrier_->look()) move(lock, 0);
    } catch (const std::exception &caught) {
        trouble = as_failure(caught);
    }
    asleep_ = carrying_ = false;
    if (sleep_ns == 0 && std::exchange(turned_away_, false)) hand_on_carrying();
    if (!trouble || !group_.ready()) return;
    lock.unlock();
    fail(*trouble);
    lock.lock();
}

/// Sleeps until there is something to move, or for `sleep_ns`, and moves it, without the lock.
void Mail::move(Lock &lock, uint64_t sleep_ns) {
    struct Unlocked {
        Lock &lock;
        explicit Unlocked(Lock &held) : lock(held) { lock.unlock(); }
        ~Unlocked() { lock.lock(); }
    };
    asleep_ = sleep_ns != 0;
    {
        const Unlocked unlocked(lock);
        if (sleep_ns != 0) carrier_->link().wait(sleep_ns);
        carrier_->progress();
    }
    asleep_ = false;
}

/// Wakes those who found this thread carrying, and who sleep: it carries no more.
void Mail::hand_on_carrying() noexcept {
    work_for_thread_.notify_all();
    if (waiters_.load(std::memory_order_seq_cst) != 0) wake_waiters();
}

/// Called by a thread that has waited, and may have carried for others.
void Mail::leave_carrying() noexcept {
    if (!carrier_ || !carrier_->busy()) return;
    const Lock lock(mutex_);
    if (carrying_ || !carrier_->busy()) return;
    if (waiters_.load(std::memory_order_seq_cst) != 0) return wake_waiters();
    try {
        need_thread();
    } catch (const std::exception &) {
        return; // then the next call here carries
    }
}

void Mail::wake_waiters() noexcept {
    for (uint32_t party = 0; party < group_.parties(); ++party) news_[party].advance();
}

/// Makes all waiting threads look again. Takes no lock.
void Mail::wake_all() noexcept {
    wake_waiters();
    if (carrier_) carrier_->link().interrupt();
}

// ---- Failing

/// Ends the group with this failure, and the job if there are other workers.
void Mail::fail(const Failure &cause) noexcept {
    if (workers_ == nullptr) return cause.status() == MDIST_ERR_TIMEOUT ? group_.fail(cause) : group_.release(cause);
    try {
        if (cause.status() == MDIST_ERR_PEER_LOST && cause.worker() != MDIST_NONE)
            workers_->await_cause(cause.worker());
        workers_->fail(cause);
        group_.fail(workers_->membership().failure().value_or(cause));
    } catch (const std::bad_alloc &) {
        group_.fail(cause);
    }
}

Waits::Wait Mail::wait_of(const Post &post) {
    return {post.is_send, post.key};
}

/// What a replica waits for in a message. A blocking call on this worker counts from its beginning: its thread may not
/// have run since, and then has told nobody.
std::optional<Waits::Wait> Mail::wait_of(uint32_t replica) const {
    if (const Waits::Wait *const told = waits_.of(replica)) return *told;
    const auto blocks = [&](const Post *post) { return post != nullptr && post->self() == replica && !post->started; };
    if (!is_local(replica)) return std::nullopt;
    for (const Post *receive : receives_[local(replica)])
        if (blocks(receive)) return wait_of(*receive);
    for (const Messages &messages : messages_)
        for (const Message &message : messages)
            if (blocks(message.send)) return wait_of(*message.send);
    for (const Post *send : offered_)
        if (blocks(send)) return wait_of(*send);
    return std::nullopt;
}

std::string Mail::chain(const Post &post) const {
    const auto known = [this](uint32_t replica) { return wait_of(replica); };
    const auto elsewhere = [this](uint32_t replica) -> std::string {
        if (!is_local(replica)) return "";
        const char *const in = group_.waits_in(local(replica));
        return in != nullptr ? text("waits in ", in) : "";
    };
    bool circle = false;
    std::string all = Waits::chain(wait_of(post), known, elsewhere, circle);
    if (circle && post.self() == post.other())
        all += ". So it waits for itself: start one of the two sides with its _start form";
    else if (circle)
        all += ". So each waits for the other: start one of these with its _start form";
    return all;
}

void Mail::fail_late(const Post &post) noexcept {
    Lock lock(mutex_);
    if (post.over) return;
    const Failure cause = late(post);
    lock.unlock();
    fail(cause);
}

Failure Mail::late(const Post &post) const noexcept {
    const uint32_t worker = spans_.worker_of(post.other());
    const uint64_t waited_ns = monotonic_clock().now_ns() - post.posted_ns;
    const bool by_key = waited_ns >= group_.call_timeout();
    return failure_or({MDIST_ERR_TIMEOUT, "timed out"}, [&] {
        return Failure(MDIST_ERR_TIMEOUT,
                       text("replica ", post.self(), " waited ", waited_text(waited_ns),
                            by_key ? " (communication.call_timeout)" : "", " in ", post.text(), ": ", chain(post)))
            .operation(post.function())
            .replica(post.other())
            .worker(workers_ != nullptr && worker != self_ ? worker : MDIST_NONE);
    });
}

WaitText Mail::waiting(const Post &post) const {
    const Lock lock(mutex_);
    return {text("replica ", post.self()), post.text(), text("replica ", post.other(), "; ", chain(post))};
}

/// Remembers that a replica waits, or no longer, and tells the other workers.
void Mail::note_wait(const Waits::Wait &wait, bool over) noexcept {
    try {
        {
            const Lock lock(mutex_);
            over ? waits_.erase(wait.self()) : waits_.set(wait);
        }
        if (workers_ != nullptr) workers_->membership().tell(Waits::encode(wait, over));
    } catch (const std::bad_alloc &) {
        return; // it would only have made a message better
    }
}

} // namespace mdist
