// SPDX-License-Identifier: Apache-2.0
// The ends of steps: a replica that has left its step takes part in no message of that run any more.
#include "comm/mail/mail.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

constexpr const char *kAdvice = ". Every message needs both its mdist_send and its mdist_receive in the same run";

}

MailRun &Mail::begin_run() {
    if (depth_ == runs_.size()) {
        auto run = std::make_unique<MailRun>();
        run->left.reset(new std::atomic<bool>[group_.parties()]);
        const Lock lock(mutex_);
        runs_.push_back(std::move(run));
    }
    if (depth_ == 0) used_.store(false, std::memory_order_relaxed);
    MailRun &run = *runs_[depth_++];
    // In this order for has_left().
    for (uint32_t party = 0; party < group_.parties(); ++party) run.left[party].store(false, std::memory_order_release);
    const uint64_t number = last_run_.load(std::memory_order_relaxed) + 1;
    run.number.store(number, std::memory_order_release);
    last_run_.store(number, std::memory_order_release);
    return run;
}

void Mail::end_run(MailRun &run) noexcept {
    const uint64_t number = run.number.load(std::memory_order_relaxed);
    run.number.store(0, std::memory_order_release);
    --depth_;
    if (!untidy_.load(std::memory_order_acquire)) return;
    const Lock lock(mutex_);
    left_elsewhere_.erase(std::remove_if(left_elsewhere_.begin(), left_elsewhere_.end(),
                                         [&](const auto &each) { return each.second <= number; }),
                          left_elsewhere_.end());
    // A failed run leaves small messages behind, which no longer count.
    if (depth_ == 0 && workers_ == nullptr && std::exchange(forgot_, false)) pairs_.assign(pairs_.size(), {});
    untidy_.store((forgot_ && workers_ == nullptr) || !left_elsewhere_.empty(), std::memory_order_relaxed);
}

/// A run may end, and its object begin the next one, while this looks. The first load sees no run whose number the loop
/// could miss, and the last one sees whether the mark was still that of this run.
bool Mail::has_left(uint32_t replica, uint64_t run) const {
    if (!is_local(replica))
        return std::find(left_elsewhere_.begin(), left_elsewhere_.end(), std::pair(replica, run)) !=
               left_elsewhere_.end();
    const uint64_t last = last_run_.load(std::memory_order_acquire);
    for (const auto &each : runs_) {
        if (each->number.load(std::memory_order_acquire) != run) continue;
        const bool left = each->left[local(replica)].load(std::memory_order_seq_cst);
        return left || each->number.load(std::memory_order_relaxed) != run;
    }
    return run <= last;
}

Failure Mail::left_with_message(const MailKey &key, const MailForm &form) const {
    return Failure(MDIST_ERR_MISMATCH,
                   text("replica ", key.to, " returned from its step without receiving what replica ", key.from,
                        " sends to it (tag ", key.tag, ", ", form.text(), ")", kAdvice))
        .operation("mdist_send")
        .replica(key.to)
        .reason("step_returned");
}

Failure Mail::left_awaited(const Post &post) const {
    if (post.is_send) return left_with_message(post.key, post.form);
    const MailKey &key = post.key;
    return Failure(MDIST_ERR_MISMATCH,
                   text("replica ", key.from, " returned from its step without sending what replica ", key.to,
                        " waits to receive from it (tag ", key.tag, ", ", post.form.text(), ")", kAdvice))
        .operation("mdist_receive")
        .replica(key.from)
        .reason("step_returned");
}

void Mail::require_here(const Post &post) const {
    if (!has_left(post.other(), post.key.run)) return;
    group_.require_ready(); // a replica whose step failed ends the group before it leaves: that is the cause then
    throw left_awaited(post);
}

bool Mail::end_step(uint32_t party, MailRun &of, FunctionRef<Failure(const Post &)> cause) noexcept {
    of.left[party].store(true, std::memory_order_seq_cst);
    const bool left = open_.load(std::memory_order_seq_cst) != 0 && end_posts(party, of, cause);
    notice();
    done_.finish();
    return left;
}

/// A post that the party has started in that run, and that is not over; nullptr: none.
Post *Mail::started_in(uint32_t party, uint64_t run) const {
    for (Post *const post : started_[party])
        if (post->key.run == run) return post;
    return nullptr;
}

bool Mail::end_posts(uint32_t party, const MailRun &of, FunctionRef<Failure(const Post &)> cause) noexcept {
    const uint64_t run = of.number;
    Lock lock(mutex_);
    const bool had_ended = !group_.ready();
    const Post *const first = started_in(party, run);
    std::optional<Failure> failure;
    try {
        failure = first != nullptr ? cause(*first) : look_for_left(party, run);
    } catch (const std::bad_alloc &) {
        failure = out_of_memory();
    }
    if (failure) {
        lock.unlock();
        group_.release(*failure);
        lock.lock();
    }
    while (Post *const post = started_in(party, run)) {
        if (had_ended) {
            end_with_group(*post, lock); // the first cause is what it gets
            continue;
        }
        withdraw(*post, lock);
        if (!post->over) end(*post, &*failure);
    }
    Messages &messages = messages_[party];
    forgot_ = forgot_ || !messages.empty();
    if (forgot_ && workers_ == nullptr) untidy_.store(true, std::memory_order_relaxed);
    for (auto message = messages.begin(); message != messages.end();)
        message = message->key.run == run && message->complete ? forget(message) : std::next(message);
    drop_kept(lock);
    return first != nullptr;
}

/// What is left without its other side now that a local replica has left. Tells other workers that wait for it.
std::optional<Failure> Mail::look_for_left(uint32_t party, uint64_t run) {
    const uint32_t replica = spans_[self_].first + party;
    for (const Waits::Wait &wait : awaits_us_)
        if (wait.other() == replica && wait.key.run == run) tell_left(replica, run, spans_.worker_of(wait.self()));
    if (!group_.ready()) return std::nullopt;
    for (const Message &message : messages_[party])
        if (message.key.run == run) return left_with_message(message.key, message.form);
    for (const std::list<Post *> &receives : receives_)
        for (const Post *const post : receives)
            if (post->key.from == replica && post->key.run == run) return left_awaited(*post);
    return std::nullopt;
}

// ---- Other workers

/// Another worker says that one of its replicas waits, or no longer. Runs on membership's thread.
void Mail::told(uint32_t worker, const std::string &notice) noexcept {
    try {
        const std::optional<Waits::Told> told = Waits::decode(notice);
        if (!told || !spans_[worker].has(told->wait.self()) || told->wait.other() >= replicas()) return;
        const Waits::Wait &wait = told->wait;
        const Lock lock(mutex_);
        const std::size_t before = awaits_us_.size();
        awaits_us_.erase(std::remove_if(awaits_us_.begin(), awaits_us_.end(),
                                        [&](const Waits::Wait &each) { return each.self() == wait.self(); }),
                         awaits_us_.end());
        open_.fetch_sub(before - awaits_us_.size(), std::memory_order_relaxed);
        if (told->over) return waits_.erase(wait.self());
        waits_.set(wait);
        if (!is_local(wait.other())) return;
        awaits_us_.push_back(wait);
        open_.fetch_add(1, std::memory_order_seq_cst);
        if (has_left(wait.other(), wait.key.run)) tell_left(wait.other(), wait.key.run, worker);
    } catch (const std::exception &) {
        return; // the wait then ends at its timeout
    }
}

/// All messages of the replica in that run come before this slip.
void Mail::tell_left(uint32_t replica, uint64_t run, uint32_t worker) {
    if (carrier_->closed()) return;
    carrier_->send(worker, MailSlip::of(MailSlip::kEnded, {replica, replica, 0, run}, {}));
    if (asleep_) carrier_->link().interrupt();
    need_thread();
}

} // namespace mdist
