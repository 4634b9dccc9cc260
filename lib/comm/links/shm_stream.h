// SPDX-License-Identifier: Apache-2.0
// ShmStream: this worker's end of the two rings between it and one mate, with the messages that are posted on them.
// Never waits. One thread at a time (the link's lock).
#pragma once

#include "comm/links/link.h"
#include "comm/shm/bell.h"
#include "comm/shm/mates.h"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace mdist {

class ShmStream {
  public:
    /// The mate must share memory. `mates` and `bell` must outlive this.
    ShmStream(const ShmMates &mates, ShmBell &bell, uint32_t mate, uint32_t channel);

    void send(uint64_t tag, const void *data, std::size_t bytes, Pending &pending);
    void receive(uint64_t tag, void *data, std::size_t bytes, Pending &pending);
    /// As in Link.
    bool send_now(uint64_t tag, const Link::Message &first, const Link::Message &second);
    bool receive_now(uint64_t tag, void *data, std::size_t bytes);

    /// As in Link.
    uint64_t moved() const { return moved_ + chunks_of(sends_) + chunks_of(receives_); }

    bool busy() const { return !sends_.empty() || !receives_.empty(); }
    /// Moves what can be moved now. Throws PEER_LOST if something is posted and the mate is gone.
    void progress();
    /// Looks whether the mate's process has ended; progress() then fails if something is still posted.
    void look_for_end() noexcept { gone_ = mates_.gone(mate_); }
    void forget() noexcept;

    /// What the mate must do before progress() has something to do. Stays true until the next call of this object; its
    /// stirs() needs no lock.
    class Watch {
      public:
        bool stirs() const noexcept {
            return has_room_ || (receives_ && lane_->written.load(std::memory_order_seq_cst) != read_) ||
                   (sends_ && lane_->read.load(std::memory_order_seq_cst) != seen_read_) ||
                   closed_->load(std::memory_order_acquire) != 0;
        }
        uint32_t mate() const { return mate_; }

      private:
        friend class ShmStream;
        const ShmLane *lane_;
        const std::atomic<uint32_t> *closed_;
        uint64_t read_, seen_read_;
        uint32_t mate_;
        bool sends_, receives_, has_room_;
    };
    Watch watch() const;

  private:
    /// Stands in front of every message in a ring.
    struct Frame {
        uint64_t tag;
        uint64_t bytes;
    };
    struct Posted {
        Frame frame;
        char *data; // only read if this is a send
        Pending *pending;
        uint64_t moved = 0;
        bool framed = false; // the frame has been transferred
    };

    /// Of the first one, the only one that moves.
    static uint64_t chunks_of(const std::deque<Posted> &posted) {
        return posted.empty() ? 0 : posted.front().moved / Link::kChunk;
    }
    void complete(std::deque<Posted> &posted);
    uint64_t place(uint64_t count) const { return count & (ring_bytes_ - 1); }
    uint64_t room(uint64_t wanted);
    uint64_t bytes_there(uint64_t wanted);
    void push();
    void pull();
    void back(uint64_t bytes);
    void put(const void *data, uint64_t bytes);
    void get(void *data, uint64_t bytes);
    void get_frame(const Frame &due);
    void tell_written();
    void tell_read();

    const ShmMates &mates_;
    ShmBell &bell_;
    const uint32_t mate_;
    const std::atomic<uint32_t> &closed_; // the mate takes part in nothing any more
    const uint64_t ring_bytes_;
    const std::size_t ring_at_; // in this worker's segment
    const ShmLane &theirs_;     // the mate's counters
    ShmLane &ours_;
    const char *const from_ring_;
    char *const to_ring_;

    std::deque<Posted> sends_;
    std::deque<Posted> receives_;
    uint64_t written_ = 0;      // by this worker
    uint64_t told_written_ = 0; // of these, what the mate has been told
    uint64_t read_ = 0;         // by this worker
    uint64_t told_read_ = 0;
    uint64_t seen_read_ = 0;    // by the mate, when last checked
    uint64_t seen_written_ = 0; // the same
    uint64_t backed_ = 0;       // bytes of the ring to the mate that have memory, from its start
    uint64_t moved_ = 0;        // chunks of messages that are through, each one's end among them
    bool gone_ = false;
};

} // namespace mdist
