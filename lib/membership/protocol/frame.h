// SPDX-License-Identifier: Apache-2.0
// ControlFrame: a message on a connection of membership.
//
//   magic 4 | version 1 | kind 1 | zero 2 | payload length 4 | zero 4 | session 16 | payload | tag 32 (where sealed)
//
// Numbers are little-endian. The session is all zeros until there is one. The tag of a sealed frame is the HMAC of a
// counter, the header and the payload. So on an authenticated connection nobody can change, remove, repeat or insert a
// frame. A reader stores only the bytes it was sent, and at most one frame of the length it allows. So a stranger that
// claims a large length costs no memory. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "membership/protocol/options.h"
#include "membership/protocol/secret.h"

namespace mdist {

/// Raised when workers of two builds would no longer understand each other: their frames, the messages of a collective,
/// or what lies in shared memory.
inline constexpr uint8_t kProtocolVersion = 11;
inline constexpr std::size_t kFrameHeaderBytes = 32;
inline constexpr std::size_t kVersionAt = 4;

enum class FrameKind : uint8_t {
    // at the start of a connection
    kHello = 1, // caller: who I am
    kChallenge, // called: prove it
    kProof,     // caller, then called
    kWelcome,   // called: you are in
    kRefused,   // either side: a failure that is final
    kTryAgain,  // called: not now
    // between the store and a worker
    kProgress,    // to workers of a job of fixed size: who is missing
    kAsk,         // worker of an elastic job: I want the next generation, and hold these commits
    kGeneration,  // all have joined, or asked: the next generation, to its members
    kExcerpt,     // the same, to a worker of a large job of fixed size: its neighbors only
    kMeshed,      // worker: I am connected with my neighbors
    kUnreachable, // worker of an elastic job: I cannot connect with these
    kGo,          // all members are connected
    kOver,        // a job of fixed size has lost a worker; those without a GO join again
    // between workers (peers.h)
    kHeartbeat,
    kAbort,    // why the job fails
    kGoodbye,  // a worker leaves
    kExchange, // to worker 0: a worker's blob
    kTable,    // from worker 0: it has begun an exchange, and later all blobs of it
    kRoster,   // from worker 0 of a large job: where all workers listen
    kKey,      // from worker 0: what a data connection must show (data_sockets.h)
    kEntered,  // how many operations workers have entered
    kNotice,   // a layer above tells its counterpart something (Membership::tell)
};
inline constexpr FrameKind kLastFrameKind = FrameKind::kNotice;

struct ControlFrame {
    FrameKind kind = FrameKind::kHello;
    SessionId session = {};
    std::string payload;
};

/// Computes the tags of one direction of a connection. Without a key there are no tags.
class Seal {
  public:
    Seal() = default;
    explicit Seal(const Digest &key) : key_(key) {}
    std::size_t tag_bytes() const { return key_ ? sizeof(Digest) : 0; }
    /// Returns the tag of the next frame, and counts the frame.
    Digest tag(std::string_view frame);

  private:
    std::optional<Digest> key_;
    uint64_t count_ = 0;
};

std::string encode(const ControlFrame &frame, Seal &seal);

class FrameReader {
  public:
    enum class Fault {
        kNone,
        kForeign, // not this protocol at all
        kVersion, // this protocol in another version
        kLength,  // longer than allowed
        kForged,  // the tag is not right
    };

    explicit FrameReader(std::size_t most_payload) : most_(most_payload) {}
    /// Sets the limit for all later frames. Only between frames.
    void set_most_payload(std::size_t bytes) { most_ = bytes; }
    void set_seal(const Seal &seal) { seal_ = seal; }

    /// How many bytes are missing to the end of the header or the frame: 1 or more, or 0 after a fault. A caller that
    /// reads no more than this leaves the bytes behind the frame in the socket.
    std::size_t wanted() const;
    /// Takes at most wanted() bytes.
    void feed(std::string_view bytes);
    /// Returns a frame if one is complete. Call feed() again only when there is none.
    std::optional<ControlFrame> next();
    Fault fault() const { return fault_; }
    /// The other side's protocol version, once a header was read.
    uint8_t version() const { return version_; }

  private:
    void check_header();
    std::size_t frame_bytes() const { return kFrameHeaderBytes + payload_ + seal_.tag_bytes(); }

    std::size_t most_;
    Seal seal_;
    std::string bytes_;
    std::size_t payload_ = 0; // length in the header that has come
    uint8_t version_ = 0;
    Fault fault_ = Fault::kNone;
};

} // namespace mdist
