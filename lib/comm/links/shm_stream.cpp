// SPDX-License-Identifier: Apache-2.0
#include "comm/links/shm_stream.h"

#include "comm/call/bad_message.h"
#include "util/cache_line.h"
#include "util/failure.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

/// In a long message the counters move at least this often, so that both ends work at the same time.
constexpr uint64_t kStride = 32768;
/// Short messages one after another move a counter once: each move takes the counter's line, and the last line of the
/// ring, away from a mate that looks at them.
constexpr uint64_t kTogether = 4096;
/// So many bytes are asked for before they are needed, since a line of memory takes long from one core to another.
constexpr uint64_t kSoon = 1152;

} // namespace

ShmStream::ShmStream(const ShmMates &mates, ShmBell &bell, uint32_t mate, uint32_t channel)
    : mates_(mates),
      bell_(bell),
      mate_(mate),
      closed_(mates.of(mate).closed),
      ring_bytes_(mates.layout().sizes().ring_bytes),
      ring_at_(mates.layout().ring(mates.place(mate), channel)),
      theirs_(
          *reinterpret_cast<const ShmLane *>(mates.of(mate, mates.layout().lane(mates.place(mates.rank()), channel)))),
      ours_(*reinterpret_cast<ShmLane *>(mates.own(mates.layout().lane(mates.place(mate), channel)))),
      from_ring_(mates.of(mate, mates.layout().ring(mates.place(mates.rank()), channel))),
      to_ring_(mates.own(ring_at_)) {}

void ShmStream::send(uint64_t tag, const void *data, std::size_t bytes, Pending &pending) {
    sends_.push_back({{tag, bytes}, static_cast<char *>(const_cast<void *>(data)), &pending});
    ++pending.count;
}

void ShmStream::receive(uint64_t tag, void *data, std::size_t bytes, Pending &pending) {
    receives_.push_back({{tag, bytes}, static_cast<char *>(data), &pending});
    ++pending.count;
}

bool ShmStream::send_now(uint64_t tag, const Link::Message &first, const Link::Message &second) {
    const uint64_t more = second.data == nullptr ? 0 : sizeof(Frame) + second.bytes;
    const uint64_t wanted = sizeof(Frame) + first.bytes + more;
    if (!sends_.empty() || room(wanted) < wanted) return false;
    const auto put_message = [&](const Link::Message &message) {
        const Frame frame{tag, message.bytes};
        put(&frame, sizeof frame);
        put(message.data, message.bytes);
    };
    put_message(first);
    if (more != 0) put_message(second);
    tell_written();
    return true;
}

bool ShmStream::receive_now(uint64_t tag, void *data, std::size_t bytes) {
    const uint64_t wanted = sizeof(Frame) + bytes;
    if (!receives_.empty() || bytes_there(wanted) < wanted) return false;
    get_frame({tag, bytes});
    get(data, bytes);
    tell_read();
    ++moved_;
    return true;
}

void ShmStream::progress() {
    if (!busy()) return;
    // Look first: it may have sent everything before.
    const bool lost = gone_ || closed_.load(std::memory_order_acquire) != 0;
    push();
    pull();
    if (!lost || !busy()) return;
    const uint32_t rank = mates_.job_rank(mate_);
    throw Failure(MDIST_ERR_PEER_LOST, text("worker ", rank, " has left, or its process has ended")).worker(rank);
}

void ShmStream::forget() noexcept {
    sends_.clear();
    receives_.clear();
}

ShmStream::Watch ShmStream::watch() const {
    Watch watch;
    watch.lane_ = &theirs_;
    watch.closed_ = &closed_;
    watch.mate_ = mate_;
    watch.read_ = read_;
    watch.seen_read_ = seen_read_;
    watch.sends_ = !sends_.empty();
    watch.receives_ = !receives_.empty();
    watch.has_room_ = watch.sends_ && written_ - seen_read_ + sizeof(Frame) <= ring_bytes_;
    return watch;
}

/// Gives memory to the ring's first `bytes`, in steps: with many workers most rings carry little.
void ShmStream::back(uint64_t bytes) {
    constexpr uint64_t kStep = 16384;
    const uint64_t wanted = std::min(round_up(bytes, kStep), ring_bytes_);
    mates_.segment()->require(ring_at_ + backed_, wanted - backed_, "messages to a worker of this host");
    backed_ = wanted;
}

/// Copies into the ring, wrapping around its end. The caller has checked that there is room.
void ShmStream::put(const void *data, uint64_t bytes) {
    if (bytes == 0) return;
    const uint64_t at = place(written_);
    const uint64_t first = std::min(bytes, ring_bytes_ - at);
    if (at + first > backed_) back(at + first);
    std::memcpy(to_ring_ + at, data, first);
    if (first < bytes) std::memcpy(to_ring_, static_cast<const char *>(data) + first, bytes - first);
    written_ += bytes;
}

/// Shows the mate what has been put into the ring since the last time.
void ShmStream::tell_written() {
    if (std::exchange(told_written_, written_) == written_) return;
    ours_.written.store(written_, std::memory_order_release);
    bell_.ring(mate_);
    for (uint64_t at = written_; at < written_ + kSoon; at += kCacheLine) __builtin_prefetch(to_ring_ + place(at), 1);
}

/// Shows the mate what has been taken from its ring. A small part of the ring can wait.
void ShmStream::tell_read() {
    if (read_ - told_read_ < std::min(kTogether, ring_bytes_ / 4)) return;
    ours_.read.store(told_read_ = read_, std::memory_order_release);
    bell_.ring(mate_);
}

/// The caller has checked that so many bytes are there.
void ShmStream::get(void *data, uint64_t bytes) {
    if (bytes == 0) return;
    const uint64_t at = place(read_);
    const uint64_t first = std::min(bytes, ring_bytes_ - at);
    std::memcpy(data, from_ring_ + at, first);
    if (first < bytes) std::memcpy(static_cast<char *>(data) + first, from_ring_, bytes - first);
    read_ += bytes;
}

void ShmStream::get_frame(const Frame &due) {
    Frame frame;
    get(&frame, sizeof frame);
    if (frame.bytes != due.bytes || frame.tag != due.tag)
        throw other_message(mates_.job_rank(mate_), frame.bytes, frame.tag, due.bytes, due.tag);
}

/// Returns the room in the ring to the mate. Looks at the mate's counter only if less than `wanted` is known.
uint64_t ShmStream::room(uint64_t wanted) {
    const uint64_t known = ring_bytes_ - (written_ - seen_read_);
    if (known >= wanted) return known;
    seen_read_ = theirs_.read.load(std::memory_order_seq_cst);
    if (written_ - seen_read_ > ring_bytes_)
        throw bad_message(mates_.job_rank(mate_), "a read count that exceeds what was written to it");
    return ring_bytes_ - (written_ - seen_read_);
}

/// Returns how many bytes the mate has written and this worker has not read; the same otherwise.
uint64_t ShmStream::bytes_there(uint64_t wanted) {
    const uint64_t known = seen_written_ - read_;
    if (known >= wanted && known != 0) return known;
    seen_written_ = theirs_.written.load(std::memory_order_seq_cst);
    const uint64_t there = seen_written_ - read_;
    if (there > ring_bytes_)
        throw bad_message(mates_.job_rank(mate_), "a write count that exceeds the room in its buffer");
    for (uint64_t at = read_; at < std::min(seen_written_, read_ + kSoon); at += kCacheLine)
        __builtin_prefetch(from_ring_ + place(at));
    return there;
}

/// The first one is through.
void ShmStream::complete(std::deque<Posted> &posted) {
    moved_ += 1 + posted.front().moved / Link::kChunk;
    --posted.front().pending->count;
    posted.pop_front();
}

void ShmStream::push() {
    while (!sends_.empty()) {
        Posted &front = sends_.front();
        do {
            uint64_t wanted = std::min(front.frame.bytes - front.moved, kStride);
            if (!front.framed) wanted += sizeof(Frame);
            uint64_t space = room(wanted);
            if (!front.framed) {
                if (space < sizeof(Frame)) return tell_written();
                put(&front.frame, sizeof(Frame));
                space -= sizeof(Frame);
                front.framed = true;
            } else if (space == 0) {
                return tell_written();
            }
            const uint64_t bytes = std::min({space, front.frame.bytes - front.moved, kStride});
            put(front.data + front.moved, bytes);
            front.moved += bytes;
            if (written_ - told_written_ >= kTogether) tell_written();
        } while (front.moved < front.frame.bytes);
        complete(sends_);
    }
    tell_written();
}

void ShmStream::pull() {
    while (!receives_.empty()) {
        Posted &front = receives_.front();
        do {
            uint64_t wanted = std::min(front.frame.bytes - front.moved, kStride);
            if (!front.framed) wanted += sizeof(Frame);
            uint64_t there = bytes_there(wanted);
            if (!front.framed) {
                if (there < sizeof(Frame)) return;
                get_frame(front.frame);
                there -= sizeof(Frame);
                front.framed = true;
            } else if (there == 0) {
                return;
            }
            const uint64_t bytes = std::min({there, front.frame.bytes - front.moved, kStride});
            get(front.data + front.moved, bytes);
            front.moved += bytes;
            tell_read();
        } while (front.moved < front.frame.bytes);
        complete(receives_);
    }
}

} // namespace mdist
