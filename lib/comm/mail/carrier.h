// SPDX-License-Identifier: Apache-2.0
// Carrier: moves messages between this worker and the others over a link of its own, which no collective uses.
//
// Everything on the link is a slip of 40 bytes; some slips are followed by the bytes of a message. A worker reads the
// slips of another one only while it wants something from it. So a worker that has left is noticed by those that wait
// for it, and by nobody else.
//
//   SMALL    a whole message of up to kSmallBytes; the receiver keeps it until it is asked for
//   OFFER    a larger message is there         -> ACCEPT   its receiver is there, and expects the same
//   DATA     its bytes                         <-
//   CREDIT   so many small messages of a sender have been received
//   ENDED    a replica's step is over; all its messages came before
//
// progress() may run while others call the other functions; otherwise one thread at a time (the mail's lock).
#pragma once

#include "comm/links/link.h"
#include "comm/mail/post.h"

#include <atomic>
#include <cstddef>
#include <list>
#include <vector>

namespace mdist {

/// Travels as it is in memory.
struct MailSlip {
    enum Kind : uint8_t { kSmall = 1, kOffer, kAccept, kData, kCredit, kEnded };

    uint64_t tag = 0;
    uint64_t run = 0;
    Kind kind = {};
    uint8_t zero = 0;
    uint16_t dtype = 0;
    uint32_t from = 0; // replicas of the message
    uint32_t to = 0;
    uint32_t number = 0;   // the sender's, for OFFER, ACCEPT and DATA
    uint64_t elements = 0; // of CREDIT: messages

    MailKey key() const { return {from, to, tag, run}; }
    MailForm form() const { return {dtype, elements}; }
    bool has_bytes() const { return is_small() || kind == kData; }
    bool is_small() const { return kind == kSmall; }
    static MailSlip of(Kind kind, const MailKey &key, const MailForm &form, uint32_t number = 0);
};
static_assert(sizeof(MailSlip) == 40);

class Carrier {
  public:
    /// The largest message that a worker keeps for its receiver.
    static constexpr std::size_t kSmallBytes = 4096;

    /// Is told what has come. Its functions throw what ends the job.
    class Desk {
      public:
        virtual ~Desk() = default;
        /// A slip with bytes has come: where do they belong? They may have length 0.
        virtual char *place(uint32_t worker, const MailSlip &slip) = 0;
        /// A slip has come, with its bytes.
        virtual void arrived(uint32_t worker, const MailSlip &slip) = 0;
        /// The bytes of this post have been handed over.
        virtual void sent(Post &post) = 0;
    };

    Carrier(Link &link, Desk &desk);

    void send(uint32_t worker, const MailSlip &slip);
    /// Sends a message of at most kSmallBytes, if that needs no wait. Otherwise returns false; then call send_copy().
    bool send_now(uint32_t worker, const MailKey &key, const MailForm &form, const char *data);
    /// Copies the message, of at most kSmallBytes.
    void send_copy(uint32_t worker, const MailKey &key, const MailForm &form, const char *data);
    /// The bytes stay where they are until Desk::sent().
    void send_data(uint32_t worker, const MailSlip &slip, Post &post);

    /// Says that this worker waits for a slip of another one, or no longer.
    void want(uint32_t worker);
    void drop_want(uint32_t worker);
    /// Whether there is anything to wait for.
    /// Any thread may ask, also without the lock: then it sees whatever came before something that it has seen.
    bool busy() const { return under_way_.load(std::memory_order_seq_cst) != 0; }
    bool has_to_send() const { return !out_.empty(); }

    /// Moves bytes; needs no lock, but one thread at a time.
    void progress() { link_.progress(); }
    /// Tells the desk what progress() has completed. Returns whether something was posted then, so that progress() may
    /// have something to do again.
    bool look();
    Link &link() const { return link_; }
    /// Ends everything. The memory of all posts is free when this returns.
    void close() noexcept;
    /// Uses the link no more, and leaves closing it to its owner: it must not close before this worker says goodbye.
    void leave() noexcept;
    bool closed() const { return closed_; }

  private:
    enum class State : uint8_t { kIdle, kSlip, kBytes };
    struct Out {
        MailSlip slip;
        Pending pending;
        Post *post = nullptr;
        char bytes[kSmallBytes];
    };
    struct In {
        MailSlip slip;
        Pending pending;
        State state = State::kIdle;
        uint32_t wanted = 0;
    };

    Out &next_out(uint32_t worker, const MailSlip &slip);
    void listen(uint32_t worker);
    void look(uint32_t worker);

    Link &link_;
    Desk &desk_;
    std::list<Out> out_;
    std::list<Out> spare_;
    std::vector<In> in_;
    std::atomic<uint64_t> under_way_{0}; // slips to send, and slips wanted
    bool posted_ = false;
    bool closed_ = false;
};

} // namespace mdist
