// SPDX-License-Identifier: Apache-2.0
// Posts that the program wants to be told of when they are over.
#include "comm/mail/mail.h"

#include <utility>

namespace mdist {

void Mail::when_over(Post &post, std::function<void(mdist_status_t)> function) {
    DoneCalls::List functions;
    functions.push_back({std::move(function), MDIST_OK});
    {
        const Lock lock(mutex_);
        if (post.over) {
            done_.add(functions, post.status());
        } else {
            if (carrier_) need_thread();
            if (post.listeners.empty()) listening_.fetch_add(1, std::memory_order_release);
            post.listeners.splice(post.listeners.end(), functions);
        }
    }
    notice();
}

void Mail::keep(const Post &post, std::shared_ptr<void> owner) {
    const Lock lock(mutex_);
    if (post.over) return;
    kept_.push_back({&post, std::move(owner)});
    open_.fetch_add(1, std::memory_order_seq_cst);
}

/// Frees the owners of posts that are over.
void Mail::drop_kept(Lock &lock) noexcept {
    std::list<Kept> over;
    for (auto each = kept_.begin(); each != kept_.end();) {
        const auto kept = each++;
        if (kept->post->over) over.splice(over.end(), kept_, kept);
    }
    open_.fetch_sub(over.size(), std::memory_order_relaxed);
    lock.unlock();
    over.clear();
    lock.lock();
}

/// A post with a listener whose time or group is over; nullptr: none.
Post *Mail::overdue() const {
    const bool has_ended = !group_.ready();
    const uint64_t now = monotonic_clock().now_ns();
    for (const std::list<Post *> &posts : started_)
        for (Post *const post : posts)
            if (!post->listeners.empty() && (has_ended || now >= deadline(*post))) return post;
    return nullptr;
}

void Mail::end_overdue() noexcept {
    Lock lock(mutex_);
    while (Post *const post = overdue()) {
        if (!group_.ready()) {
            end_with_group(*post, lock);
            continue;
        }
        const Failure cause = late(*post);
        lock.unlock();
        fail(cause); // ends the group
        lock.lock();
    }
}

} // namespace mdist
