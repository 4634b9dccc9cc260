// SPDX-License-Identifier: Apache-2.0
// ControlFrame: what travels on a connection of membership.
//
//   magic 4 | version 1 | kind 1 | zero 2 | payload length 4 | zero 4 | session 16 | payload | tag 32 (where sealed)
//
// Numbers are little-endian. The session is all zeros until there is one. A sealed frame's tag is the HMAC of a
// counter, the header and the payload, so that on an authenticated connection nothing can be changed, left out,
// repeated or put in. A reader keeps no more than what it was sent, and never more than one frame of the length it
// allows: a stranger's claim of a length costs nothing. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/membership/membership.h"
#include "comm/membership/secret.h"

namespace mdist {

inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 32;

enum class FrameKind : uint8_t {
    // by which a connection begins
    kHello = 1, // caller: who I am
    kChallenge, // called: prove it, and here is my proof
    kProof,     // caller
    kWelcome,   // called: you are in
    kRefused,   // either: a failure that is final
    kTryAgain,  // called: not now
    // between the store and a worker
    kProgress, // who is missing
    kRoster,   // all are there: the session and where the others are
    kMeshed,   // worker: I am connected with all of them
    kGo,       // so is everybody
    kOver,     // the session has ended before it began
    // between workers
    kHeartbeat,
    kAbort, // the first operation that is not to be (8 bytes; 0: none is), and why
    kGoodbye,
    kExchange,
};
inline constexpr FrameKind kLastFrameKind = FrameKind::kExchange;

struct ControlFrame {
    FrameKind kind = FrameKind::kHello;
    SessionId session = {};
    std::string payload;
};

/// Gives one direction of a connection its tags. Without a key: none.
class Seal {
  public:
    Seal() = default;
    explicit Seal(const Digest &key) : key_(key) {}
    std::size_t tag_bytes() const { return key_ ? sizeof(Digest) : 0; }
    /// Of the next frame; counts it.
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
    /// For the frames from here on; only between frames.
    void set_most_payload(std::size_t bytes) { most_ = bytes; }
    void set_seal(const Seal &seal) { seal_ = seal; }

    /// Bytes that are missing to the next boundary (header, frame): 1 or more, unless there is a fault. Who reads
    /// no more than that from a socket has not read what comes behind the last frame.
    std::size_t wanted() const;
    /// At most wanted() bytes.
    void feed(std::string_view bytes);
    /// A frame that has come; feed() again only when there is none.
    std::optional<ControlFrame> next();
    Fault fault() const { return fault_; }
    /// The other side's, once a header was read.
    uint8_t version() const { return version_; }

  private:
    void check_header();
    std::size_t frame_bytes() const { return kFrameHeaderBytes + payload_ + seal_.tag_bytes(); }

    std::size_t most_;
    Seal seal_;
    std::string bytes_;
    std::size_t payload_ = 0; // of the frame whose header has come
    uint8_t version_ = 0;
    Fault fault_ = Fault::kNone;
};

} // namespace mdist
