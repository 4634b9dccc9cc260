// SPDX-License-Identifier: Apache-2.0
#include "comm/links/shm.h"

#include "comm/links/pollable.h"
#include "comm/links/shm_stream.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace mdist {
namespace {

constexpr uint64_t kSliceNs = 5'000'000; // how long to wait before checking who has ended

class ShmLink final : public Link, public Pollable {
  public:
    ShmLink(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, uint32_t channel)
        : mates_(std::move(mates)), bell_(std::move(bell)), by_rank_(mates_->workers()) {
        for (uint32_t peer = 0; peer < mates_->workers(); ++peer) {
            if (!mates_->shares(peer)) continue;
            by_rank_[peer] = std::make_unique<ShmStream>(*mates_, *bell_, peer, channel);
            streams_.push_back(by_rank_[peer].get());
        }
        busy_.reserve(streams_.size());
        asleep_on_.reserve(streams_.size());
    }
    ~ShmLink() override { close(); }

    uint32_t self() const override { return mates_->rank(); }
    uint32_t parties() const override { return mates_->workers(); }
    uint32_t rank(uint32_t party) const override { return mates_->job_rank(party); }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        to(peer).send(tag, data, bytes, pending);
    }
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        to(peer).receive(tag, data, bytes, pending);
    }
    bool send_now(uint32_t peer, uint64_t tag, const Message &first, const Message &second) override {
        const std::lock_guard lock(mutex_);
        return to(peer).send_now(tag, first, second);
    }
    bool receive_now(uint32_t peer, uint64_t tag, void *data, std::size_t bytes) override {
        const std::lock_guard lock(mutex_);
        return to(peer).receive_now(tag, data, bytes);
    }

    uint64_t moved(uint32_t peer) const override {
        const std::lock_guard lock(mutex_);
        return by_rank_[peer]->moved();
    }
    uint64_t moved() const override {
        const std::lock_guard lock(mutex_);
        uint64_t all = 0;
        for (const ShmStream *const stream : streams_) all += stream->moved();
        return all;
    }
    void progress() override {
        const std::lock_guard lock(mutex_);
        require_open();
        for (ShmStream *const stream : streams_) stream->progress();
    }
    void wait(uint64_t timeout_ns) override;

    void interrupt() noexcept override {
        interrupted_.store(true, std::memory_order_seq_cst);
        if (!streams_.empty()) bell_->interrupt();
    }

    void close() noexcept override {
        closed_.store(true, std::memory_order_seq_cst);
        {
            const std::lock_guard lock(mutex_); // nobody moves bytes from here on
            for (ShmStream *const stream : streams_) stream->forget();
        }
        if (!streams_.empty()) bell_->close();
    }

    Pollable *pollable() override { return this; }
    bool stirs() override {
        list_busy();
        if (!ready()) return false;
        interrupted_.store(false, std::memory_order_seq_cst); // the wait ends with this
        return true;
    }
    uint64_t begin_wait(std::vector<pollfd> &descriptors) override;
    void end_wait(const pollfd *found) override;

  private:
    void require_open() const {
        if (closed_.load(std::memory_order_relaxed)) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
    }
    ShmStream &to(uint32_t peer) {
        require_open();
        if (peer < by_rank_.size() && by_rank_[peer]) return *by_rank_[peer];
        throw Failure(MDIST_ERR_INTERNAL, text("worker ", peer, " does not share memory with this worker"));
    }
    void list_busy();
    bool ready() const noexcept;
    void look_for_ended();

    std::shared_ptr<ShmMates> mates_;
    std::shared_ptr<ShmBell> bell_;
    std::atomic<bool> interrupted_{false};
    std::atomic<bool> closed_{false};
    mutable std::mutex mutex_; // guards the streams: others post while one thread moves, and may close at any time
    std::vector<std::unique_ptr<ShmStream>> by_rank_; // nullptr: does not share memory
    std::vector<ShmStream *> streams_;                // the others
    // Only the thread that uses the link uses these:
    std::vector<ShmStream::Watch> busy_; // what is waited for
    std::vector<uint32_t> asleep_on_;    // the same, by mate
};

/// Whoever posts something later interrupts.
void ShmLink::list_busy() {
    busy_.clear();
    const std::lock_guard lock(mutex_);
    for (const ShmStream *const stream : streams_)
        if (stream->busy()) busy_.push_back(stream->watch());
}

/// Whether some busy peer has something to do, or the wait is over. Takes no lock.
bool ShmLink::ready() const noexcept {
    return interrupted_.load(std::memory_order_seq_cst) || closed_.load(std::memory_order_seq_cst) ||
           std::any_of(busy_.begin(), busy_.end(), [](const ShmStream::Watch &watch) { return watch.stirs(); });
}

void ShmLink::look_for_ended() {
    interrupted_.store(false, std::memory_order_seq_cst);
    if (ready()) return;
    const std::lock_guard lock(mutex_);
    for (const ShmStream::Watch &watch : busy_) by_rank_[watch.mate()]->look_for_end();
}

void ShmLink::wait(uint64_t timeout_ns) {
    list_busy();
    const auto look = [this] { return ready(); };
    const bool soon = look_often(look) || bell_->look(look);
    if (soon && !interrupted_.load(std::memory_order_seq_cst)) return;
    if (!soon) {
        asleep_on_.clear();
        for (const ShmStream::Watch &watch : busy_) asleep_on_.push_back(watch.mate());
        bell_->sleep(asleep_on_, look, std::min(timeout_ns, kSliceNs));
    }
    look_for_ended();
}

uint64_t ShmLink::begin_wait(std::vector<pollfd> &descriptors) {
    list_busy();
    if (busy_.empty()) return ready() ? 0 : UINT64_MAX;
    descriptors.push_back({bell_->descriptor(), POLLIN, 0});
    bell_->listen();
    return ready() ? 0 : kSliceNs;
}

void ShmLink::end_wait(const pollfd *found) {
    if (!busy_.empty()) bell_->heard(found->revents != 0);
    look_for_ended();
}

} // namespace

std::unique_ptr<Link> make_shm_link(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, uint32_t channel) {
    return std::make_unique<ShmLink>(std::move(mates), std::move(bell), channel);
}

} // namespace mdist
