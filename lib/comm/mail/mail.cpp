// SPDX-License-Identifier: Apache-2.0
// Matching: who has posted what, and what happens when both sides of a message are there.
#include "comm/mail/mail.h"

#include "util/text.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

/// Longer copies are made without the lock.
constexpr std::size_t kLockedCopy = 8192;

void copy_bytes(char *to, const char *from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
}

} // namespace

Failure mail_mismatch(const MailKey &key, const MailForm &sent, const MailForm &received) {
    return Failure(MDIST_ERR_MISMATCH,
                   text("replica ", key.from, " sends ", sent.text(), " to replica ", key.to, " with tag ", key.tag,
                        ", but replica ", key.to, " receives ", received.text(),
                        " there. Pass the same dtype and number of elements on both sides"))
        .replica(key.from)
        .reason("different_calls");
}

Mail::Mail(Group &group, Patience patience)
    : group_(group),
      patience_(patience),
      spans_(Spans::even(1, group.parties())),
      news_(new EventCount[group.parties()]),
      receives_(group.parties()),
      messages_(group.parties()),
      started_(group.parties()),
      pairs_(static_cast<std::size_t>(group.parties()) * group.parties()) {
    group_.set_when_ended([this] { wake_all(); });
}

void Mail::set_workers(Workers &workers) {
    workers_ = &workers;
    spans_ = workers.spans();
    self_ = workers.self();
    pairs_.assign(static_cast<std::size_t>(group_.parties()) * replicas(), {});
    landing_.resize(workers.count());
    carrier_ = std::make_unique<Carrier>(workers_->mail_link(), *this);
    workers_->membership().when_told([this](uint32_t worker, const std::string &notice) { told(worker, notice); });
}

/// Sends a small message to another worker, if that needs no wait. Then the post is over, and was never counted.
/// Otherwise returns false, and has done nothing.
bool Mail::send_now(Post &post) {
    if (!used()) used_.store(true, std::memory_order_relaxed);
    const MailKey &key = post.key;
    if (!post.is_send || is_local(key.to) || post.form.bytes() > Carrier::kSmallBytes) return false;
    const Noticing noticing{*this};
    Lock lock(mutex_);
    group_.require_ready();
    Pair &between = pair(key.from, key.to);
    if (between.may_send == 0) return false;
    require_here(post);
    try {
        if (!carrier_->send_now(spans_.worker_of(key.to), key, post.form, post.data)) return false;
    } catch (const Failure &failure) { // the message may have been put into the ring in part
        lock.unlock();
        fail(failure);
        group_.require_ready_while_waiting();
        throw;
    }
    --between.may_send;
    post.over.store(true, std::memory_order_release);
    return true;
}

void Mail::start(Post &post) {
    if (!send_now(post)) enter(post);
}

/// Puts the post where the other side finds it. The thread that calls it for a blocking one waits next.
void Mail::enter(Post &post) {
    const Noticing noticing{*this};
    Lock lock(mutex_);
    group_.require_ready();
    if (post.started && started_[post.party].size() >= kMostStarted)
        throw Failure(MDIST_ERR_RESOURCE, text("this replica has ", kMostStarted,
                                               " started messages under way; wait for some of them first"))
            .reason("too_many_works");
    count(post);
    try {
        post.is_send ? post_send(post, lock) : post_receive(post, lock);
        const bool over = post.over;
        if (!over) post.posted_ns = monotonic_clock().now_ns(); // later than posted, but nobody else has looked
        if (!carrier_ || !carrier_->busy()) return;
        if (!over && !post.started) { // its call waits now, and carries unless another thread does
            if (asleep_) carrier_->link().interrupt();
            return;
        }
        const bool started = post.started; // a post that is over may be freed while the lock is open
        carry_now(lock, post.party, 0);
        if (started || carrier_->has_to_send()) need_thread();
    } catch (...) {
        withdraw(post, lock);
        if (!post.over) end(post, nullptr);
        throw;
    }
}

void Mail::post_send(Post &post, Lock &lock) {
    const MailKey &key = post.key;
    const bool is_small = post.form.bytes() <= Carrier::kSmallBytes;
    Pair &between = pair(key.from, key.to);
    if (!is_local(key.to)) {
        require_here(post);
        const uint32_t worker = spans_.worker_of(key.to);
        if (is_small && between.may_send != 0) {
            --between.may_send;
            carrier_->send_copy(worker, key, post.form, post.data);
            return finish(post);
        }
        if (++last_number_ == 0) ++last_number_; // 0: none
        post.number = last_number_;
        offered_.push_back(&post);
        carrier_->send(worker, MailSlip::of(MailSlip::kOffer, key, post.form, post.number));
        return carrier_->want(worker);
    }
    if (Post *const receive = take_receive(key, post.form)) {
        copy(*receive, receive->data, post.data, post.form.bytes(), lock);
        finish(*receive);
        return finish(post);
    }
    require_here(post);
    Message message = {key, post.form, &post};
    if (is_small && between.may_send != 0) {
        message.send = nullptr;
        message.bytes.reset(new char[post.form.bytes()]);
        copy_bytes(message.bytes.get(), post.data, post.form.bytes());
        --between.may_send;
    }
    const bool is_kept = message.send == nullptr;
    add(std::move(message));
    if (is_kept) finish(post);
}

void Mail::post_receive(Post &post, Lock &lock) {
    const MailKey &key = post.key;
    Messages &messages = messages_[post.party];
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const Message &each) { return each.key == key && each.receive == nullptr; });
    if (found != messages.end()) return take(found, post, lock);
    require_here(post);
    receives_[post.party].push_back(&post);
    if (!is_local(key.from)) carrier_->want(spans_.worker_of(key.from));
}

/// Both sides of a message are there.
void Mail::take(Messages::iterator message, Post &receive, Lock &lock) {
    if (!(message->form == receive.form)) throw mail_mismatch(receive.key, message->form, receive.form);
    if (message->number != 0) {
        const uint32_t worker = message->worker;
        const uint32_t number = message->number;
        forget(message);
        carrier_->want(worker);
        return accept(worker, number, receive);
    }
    if (!message->complete) {
        message->receive = &receive;
        return carrier_->want(message->worker);
    }
    if (Post *const send = message->send) {
        forget(message);
        copy(*send, receive.data, send->data, receive.form.bytes(), lock);
        finish(*send);
    } else {
        copy_bytes(receive.data, message->bytes.get(), receive.form.bytes());
        forget(message);
        received_small(receive.key);
    }
    finish(receive);
}

/// Copies, with `other` marked so that its caller waits for the end of it.
void Mail::copy(Post &other, char *to, const char *from, std::size_t bytes, Lock &lock) {
    if (bytes <= kLockedCopy) return copy_bytes(to, from, bytes);
    other.moving = true;
    lock.unlock();
    copy_bytes(to, from, bytes);
    lock.lock();
    other.moving = false;
    moved_.notify_all();
}

/// Takes the receive that a message is for; nullptr: there is none yet.
Post *Mail::take_receive(const MailKey &key, const MailForm &form) {
    std::list<Post *> &receives = receives_[local(key.to)];
    const auto found =
        std::find_if(receives.begin(), receives.end(), [&](const Post *each) { return each->key == key; });
    if (found == receives.end()) return nullptr;
    Post *const receive = *found;
    if (!(receive->form == form)) throw mail_mismatch(key, form, receive->form);
    receives.erase(found);
    return receive;
}

Mail::Message &Mail::add(Message message) {
    Message &added = messages_[local(message.key.to)].emplace_back(std::move(message));
    open_.fetch_add(1, std::memory_order_seq_cst);
    return added;
}

Mail::Messages::iterator Mail::forget(Messages::iterator message) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return messages_[local(message->key.to)].erase(message);
}

/// The receiver has taken a message that the library kept: its sender may send another one.
void Mail::received_small(const MailKey &key) {
    if (is_local(key.from)) {
        ++pair(key.from, key.to).may_send;
        return;
    }
    Pair &between = pair(key.to, key.from);
    if (++between.taken < kReturned) return;
    between.taken = 0;
    carrier_->send(spans_.worker_of(key.from), MailSlip::of(MailSlip::kCredit, key, {0, kReturned}));
}

void Mail::count(Post &post) {
    if (post.started) started_[post.party].push_back(&post);
    open_.fetch_add(1, std::memory_order_seq_cst);
}

/// Ends a post that is in no list but started_. Without a cause, it is done.
void Mail::end(Post &post, const Failure *cause) noexcept {
    if (cause != nullptr) post.failure = *cause;
    if (post.started) started_[post.party].remove(&post);
    if (!post.listeners.empty()) {
        listening_.fetch_sub(1, std::memory_order_relaxed);
        done_.add(post.listeners, post.status());
    }
    open_.fetch_sub(1, std::memory_order_relaxed);
    const uint32_t party = post.party;
    Alarm *const alarm = post.alarm.get();
    post.over.store(true, std::memory_order_release); // from here on its caller may free it, but not one with an alarm
    if (alarm != nullptr) {
        group_.remove(*alarm);
        alarm->ring();
    }
    news_[party].advance();
    if (asleep_ && carries_for_ == party) carrier_->link().interrupt();
}

/// Takes a post out of the lists, so that nobody uses its memory, unless it has ended meanwhile.
void Mail::withdraw(Post &post, Lock &lock) noexcept {
    moved_.wait(lock, [&] { return !post.moving; });
    if (post.over) return;
    if (carrier_) carrier_->close(); // with several workers, whatever withdraws a post has ended the job
    receives_[post.party].remove(&post);
    offered_.remove(&post);
    accepted_.remove_if([&](const Accepted &each) { return each.receive == &post; });
    for (Landing &landing : landing_)
        if (landing.receive == &post) landing = {};
    for (Messages &messages : messages_)
        for (auto message = messages.begin(); message != messages.end();)
            message = message->send == &post || message->receive == &post ? forget(message) : std::next(message);
}

} // namespace mdist
