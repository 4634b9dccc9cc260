// SPDX-License-Identifier: Apache-2.0
#include "comm/links/shm.h"

#include "comm/call/bad_message.h"
#include "comm/links/pollable.h"
#include "util/failure.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

namespace mdist {
namespace {

/// Stands in front of every message in a ring.
struct Frame {
    uint64_t tag;
    uint64_t bytes;
};

/// In a long message the counters move at least this often, so that both ends work at the same time.
constexpr uint64_t kStride = 32768;
/// Short messages one after another move a counter once: each move takes the counter's line, and the last line of the
/// ring, away from a mate that looks at them.
constexpr uint64_t kTogether = 4096;
constexpr uint64_t kSliceNs = 5'000'000; // how long to wait before checking who has ended

struct Posted {
    uint64_t tag;
    char *data; // only read if this is a send
    uint64_t bytes;
    Pending *pending;
    uint64_t moved = 0;
    bool framed = false; // the frame has been transferred
};

/// This worker's end of the two rings between it and one mate.
struct Ends {
    std::deque<Posted> sends;
    std::deque<Posted> receives;
    uint64_t written = 0;      // by this worker
    uint64_t read = 0;         // by this worker
    uint64_t seen_read = 0;    // by the mate, when last checked
    uint64_t seen_written = 0; // the same
    bool gone = false;
    bool has_recent = false; // the bytes before seen_written, as the mate repeated them
    char recent[ShmLane::kRecent];
    uint64_t backed = 0;             // bytes of the ring to the mate that have memory, from its start
    const ShmLane *theirs = nullptr; // the mate's counters; nullptr if it does not share memory
    ShmLane *ours = nullptr;
    const char *from_ring = nullptr;
    char *to_ring = nullptr;
    bool busy() const { return !sends.empty() || !receives.empty(); }
};

class ShmLink final : public Link, public Pollable {
  public:
    ShmLink(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, uint32_t channel)
        : mates_(std::move(mates)),
          bell_(std::move(bell)),
          channel_(channel),
          ring_bytes_(mates_->layout().sizes().ring_bytes),
          ends_(mates_->workers()) {
        const ShmLayout &layout = mates_->layout();
        for (uint32_t peer = 0; peer < mates_->workers(); ++peer) {
            if (!mates_->shares(peer)) continue;
            ranks_.push_back(peer);
            Ends &ends = ends_[peer];
            ends.theirs = reinterpret_cast<const ShmLane *>(mates_->of(peer, layout.lane(mates_->rank(), channel_)));
            ends.ours = reinterpret_cast<ShmLane *>(mates_->own(layout.lane(peer, channel_)));
            ends.from_ring = mates_->of(peer, layout.ring(mates_->rank(), channel_));
            ends.to_ring = mates_->own(layout.ring(peer, channel_));
        }
    }
    ~ShmLink() override { close(); }

    uint32_t self() const override { return mates_->rank(); }
    uint32_t parties() const override { return mates_->workers(); }
    uint32_t rank(uint32_t party) const override { return mates_->job_rank(party); }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        ends_of(peer).sends.push_back({tag, static_cast<char *>(const_cast<void *>(data)), bytes, &pending});
        ++pending.count;
    }

    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        ends_of(peer).receives.push_back({tag, static_cast<char *>(data), bytes, &pending});
        ++pending.count;
    }

    void progress() override;
    void wait(uint64_t timeout_ns) override;

    void interrupt() noexcept override {
        interrupted_.store(true, std::memory_order_seq_cst);
        if (!ranks_.empty()) bell_->interrupt();
    }

    void close() noexcept override {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            for (Ends &ends : ends_) {
                ends.sends.clear();
                ends.receives.clear();
            }
        }
        if (!ranks_.empty()) bell_->close();
    }

    Pollable *pollable() override { return this; }
    bool stirs() override;
    uint64_t begin_wait(std::vector<pollfd> &descriptors) override;
    void end_wait(const pollfd *found) override;

  private:
    Ends &ends_of(uint32_t peer) {
        if (closed_) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
        if (peer >= ends_.size() || ends_[peer].theirs == nullptr)
            throw Failure(MDIST_ERR_INTERNAL, text("worker ", peer, " does not share memory with this worker"));
        return ends_[peer];
    }
    uint64_t space_for(uint32_t peer, Ends &ends, uint64_t wanted);
    uint64_t bytes_there(uint32_t peer, Ends &ends, uint64_t wanted);
    void push(uint32_t peer, Ends &ends);
    void pull(uint32_t peer, Ends &ends);
    void back(uint32_t peer, Ends &ends, uint64_t bytes);
    void put(uint32_t peer, Ends &ends, const void *data, uint64_t bytes);
    void get(Ends &ends, void *data, uint64_t bytes);
    void publish(Ends &ends, uint64_t news) noexcept;
    void list_busy();
    bool ready();
    bool stirs(uint32_t peer, const Ends &ends) const;
    void look_for_ended();

    std::shared_ptr<ShmMates> mates_;
    std::shared_ptr<ShmBell> bell_;
    const uint32_t channel_;
    const uint64_t ring_bytes_;
    std::vector<uint32_t> ranks_; // workers that share memory
    std::atomic<bool> interrupted_{false};
    std::mutex mutex_; // guards use against close()
    bool closed_ = false;
    std::vector<Ends> ends_;     // by rank
    std::vector<uint32_t> busy_; // peers that are waited for; only the thread that uses the link uses this
};

/// Gives memory to the ring's first `bytes`, in steps: with many workers most rings carry little.
void ShmLink::back(uint32_t peer, Ends &ends, uint64_t bytes) {
    constexpr uint64_t kStep = 16384;
    const uint64_t wanted = std::min(round_up(bytes, kStep), ring_bytes_);
    mates_->segment()->require(mates_->layout().ring(peer, channel_) + ends.backed, wanted - ends.backed,
                               "messages to a worker of this host");
    ends.backed = wanted;
}

/// Copies into the ring, wrapping around its end. The caller has checked that there is room.
void ShmLink::put(uint32_t peer, Ends &ends, const void *data, uint64_t bytes) {
    char *const ring = ends.to_ring;
    const uint64_t at = ends.written % ring_bytes_;
    const uint64_t first = std::min(bytes, ring_bytes_ - at);
    if (at + first > ends.backed) back(peer, ends, at + first);
    std::memcpy(ring + at, data, first);
    if (first < bytes) std::memcpy(ring, static_cast<const char *>(data) + first, bytes - first);
    ends.written += bytes;
}

/// Shows the mate what has been put into the ring. The last `news` bytes are new.
void ShmLink::publish(Ends &ends, uint64_t news) noexcept {
    if (news > ShmLane::kRecent) return ends.ours->publish(ends.written);
    char last[ShmLane::kRecent] = {};
    const uint64_t bytes = std::min<uint64_t>(ends.written, sizeof last), at = (ends.written - bytes) % ring_bytes_;
    const uint64_t first = std::min(bytes, ring_bytes_ - at);
    char *const to = last + sizeof last - bytes;
    std::memcpy(to, ends.to_ring + at, first);
    if (first < bytes) std::memcpy(to + first, ends.to_ring, bytes - first);
    ends.ours->publish(ends.written, last);
}

void ShmLink::get(Ends &ends, void *data, uint64_t bytes) {
    const uint64_t unread = ends.seen_written - ends.read;
    if (ends.has_recent && unread <= ShmLane::kRecent) {
        std::memcpy(data, ends.recent + ShmLane::kRecent - unread, bytes);
        ends.read += bytes;
        return;
    }
    const char *const ring = ends.from_ring;
    const uint64_t at = ends.read % ring_bytes_;
    const uint64_t first = std::min(bytes, ring_bytes_ - at);
    std::memcpy(data, ring + at, first);
    if (first < bytes) std::memcpy(static_cast<char *>(data) + first, ring, bytes - first);
    ends.read += bytes;
}

/// Returns the room in the ring to the mate. Looks at the mate's counter only if less than `wanted` is known.
uint64_t ShmLink::space_for(uint32_t peer, Ends &ends, uint64_t wanted) {
    const uint64_t known = ring_bytes_ - (ends.written - ends.seen_read);
    if (known >= wanted) return known;
    ends.seen_read = ends.theirs->read.load(std::memory_order_seq_cst);
    if (ends.written - ends.seen_read > ring_bytes_)
        throw bad_message(rank(peer), "a read count that exceeds what was written to it");
    return ring_bytes_ - (ends.written - ends.seen_read);
}

/// Returns how many bytes the mate has written and this worker has not read; the same otherwise.
uint64_t ShmLink::bytes_there(uint32_t peer, Ends &ends, uint64_t wanted) {
    const uint64_t known = ends.seen_written - ends.read;
    if (known >= wanted && known != 0) return known;
    ends.seen_written = ends.theirs->look(ends.recent, ends.has_recent);
    const uint64_t there = ends.seen_written - ends.read;
    if (there > ring_bytes_) throw bad_message(rank(peer), "a write count that exceeds the room in its buffer");
    return there;
}

void ShmLink::push(uint32_t peer, Ends &ends) {
    uint64_t told = ends.written;
    const auto tell = [&] {
        if (told == ends.written) return;
        publish(ends, ends.written - told);
        told = ends.written;
        bell_->ring();
    };
    while (!ends.sends.empty()) {
        Posted &front = ends.sends.front();
        uint64_t wanted = std::min(front.bytes - front.moved, kStride);
        if (!front.framed) wanted += sizeof(Frame);
        uint64_t space = space_for(peer, ends, wanted);
        if (!front.framed) {
            if (space < sizeof(Frame)) return tell();
            const Frame frame{front.tag, front.bytes};
            put(peer, ends, &frame, sizeof frame);
            space -= sizeof frame;
            front.framed = true;
        } else if (space == 0) {
            return tell();
        }
        const uint64_t bytes = std::min({space, front.bytes - front.moved, kStride});
        if (bytes != 0) put(peer, ends, front.data + front.moved, bytes);
        front.moved += bytes;
        if (ends.written - told >= kTogether) tell();
        if (front.moved < front.bytes) continue;
        --front.pending->count;
        ends.sends.pop_front();
    }
    tell();
}

void ShmLink::pull(uint32_t peer, Ends &ends) {
    uint64_t told = ends.read;
    const auto tell = [&] {
        if (told == ends.read) return;
        ends.ours->read.store(told = ends.read, std::memory_order_seq_cst);
        bell_->ring();
    };
    while (!ends.receives.empty()) {
        Posted &front = ends.receives.front();
        uint64_t wanted = std::min(front.bytes - front.moved, kStride);
        if (!front.framed) wanted += sizeof(Frame);
        uint64_t there = bytes_there(peer, ends, wanted);
        if (!front.framed) {
            if (there < sizeof(Frame)) return tell();
            Frame frame;
            get(ends, &frame, sizeof frame);
            there -= sizeof frame;
            if (frame.bytes != front.bytes || frame.tag != front.tag)
                throw other_message(rank(peer), frame.bytes, frame.tag, front.bytes, front.tag);
            front.framed = true;
        } else if (there == 0) {
            return tell();
        }
        const uint64_t bytes = std::min({there, front.bytes - front.moved, kStride});
        if (bytes != 0) get(ends, front.data + front.moved, bytes);
        front.moved += bytes;
        if (ends.read - told >= kTogether) tell();
        if (front.moved < front.bytes) continue;
        --front.pending->count;
        ends.receives.pop_front();
    }
    tell();
}

void ShmLink::progress() {
    const std::lock_guard lock(mutex_);
    if (closed_) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
    for (const uint32_t peer : ranks_) {
        Ends &ends = ends_[peer];
        if (!ends.busy()) continue;
        const bool lost = ends.gone || bell_->closed(peer); // look first: it may have sent everything before
        push(peer, ends);
        pull(peer, ends);
        if (lost && ends.busy())
            throw Failure(MDIST_ERR_PEER_LOST, text("worker ", rank(peer), " has left, or its process has ended"))
                .worker(rank(peer));
    }
}

/// Whether progress() would find something to do with this peer.
bool ShmLink::stirs(uint32_t peer, const Ends &ends) const {
    const ShmLane &lane = *ends.theirs;
    if (!ends.receives.empty() && lane.count() != ends.read) return true;
    if (ends.sends.empty()) return ends.busy() && bell_->closed(peer);
    return lane.read.load(std::memory_order_seq_cst) != ends.seen_read ||
           ends.written - ends.seen_read + sizeof(Frame) <= ring_bytes_ || bell_->closed(peer);
}

void ShmLink::list_busy() {
    busy_.clear();
    const std::lock_guard lock(mutex_);
    for (const uint32_t peer : ranks_)
        if (ends_[peer].busy()) busy_.push_back(peer);
}

/// Whether some busy peer has something to do, or the wait is over.
bool ShmLink::ready() {
    if (interrupted_.load(std::memory_order_seq_cst)) return true;
    const std::lock_guard lock(mutex_);
    return closed_ || std::any_of(busy_.begin(), busy_.end(), [&](uint32_t peer) { return stirs(peer, ends_[peer]); });
}

bool ShmLink::stirs() {
    list_busy();
    return ready();
}

void ShmLink::look_for_ended() {
    interrupted_.store(false, std::memory_order_seq_cst);
    if (ready()) return;
    for (const uint32_t peer : busy_) ends_[peer].gone = mates_->gone(peer);
}

void ShmLink::wait(uint64_t timeout_ns) {
    list_busy();
    const auto look = [this] { return ready(); };
    const bool soon = look_often(look) || bell_->look(look);
    if (soon && !interrupted_.load(std::memory_order_seq_cst)) return;
    if (!soon) bell_->sleep(busy_, look, std::min(timeout_ns, kSliceNs));
    look_for_ended();
}

uint64_t ShmLink::begin_wait(std::vector<pollfd> &descriptors) {
    list_busy();
    if (busy_.empty()) return ready() ? 0 : UINT64_MAX;
    descriptors.push_back({bell_->descriptor(), POLLIN, 0});
    bell_->listen();
    return ready() ? 0 : kSliceNs;
}

void ShmLink::end_wait(const pollfd *) {
    if (!busy_.empty()) bell_->heard();
    look_for_ended();
}

} // namespace

std::unique_ptr<Link> make_shm_link(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, uint32_t channel) {
    return std::make_unique<ShmLink>(std::move(mates), std::move(bell), channel);
}

} // namespace mdist
