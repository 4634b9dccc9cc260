// SPDX-License-Identifier: Apache-2.0
// Handshake: the start of every connection, with the store or between workers.
//
//   caller                                      called
//   HELLO  who calls whom, nonce   ->
//                                  <-  CHALLENGE  nonce
//   PROOF  HMAC(key, "caller" + both + body), body ->
//                                  <-  PROOF  HMAC(key, "called" + both); all that follows is sealed:
//                                      WELCOME, PROGRESS, REFUSED or TRY_AGAIN
//
// Each side proves that it knows the key, for this connection only. The caller proves itself first, so a stranger that
// connects receives nothing made with the key. The proofs cover the HELLO, which names both ends. So a proof meant for
// one worker is useless at another, and useless when sent back. Each direction gets its own key for its seal. Before
// the proofs, REFUSED is the only other frame that counts. It carries no session and no setting of the job. Without a
// key the proofs are zeros and nothing is sealed. Pure state; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "membership/protocol/frame.h"
#include "util/failure.h"

namespace mdist {

enum class Role : uint8_t { kJoin = 1, kControl, kData, kElastic };

/// The rank that a caller names when it calls the store.
inline constexpr uint32_t kStoreRank = UINT32_MAX;
inline constexpr std::size_t kMostJobBytes = 255;
/// The largest payload of a stranger's first frame.
inline constexpr std::size_t kMostHelloBytes = 512;
/// The largest payload before the other side has proved itself. The longest such frame is a REFUSED with its message.
inline constexpr std::size_t kMostUnprovenBytes = 8192;

struct Hello {
    Role role = Role::kJoin;
    bool with_secret = false;
    uint32_t rank = 0;
    uint32_t called = kStoreRank; // the rank that this HELLO is for
    uint32_t size = 0;
    uint32_t restart = 0;
    uint32_t number = 0; // of a data connection between these two
    Digest nonce = {};
    std::string job;

    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.role, self.with_secret, self.rank, self.called, self.size, self.restart, self.number, self.nonce,
                self.job);
    }
};

std::string encode(const Hello &hello);

/// Derives the key of handshakes for `purpose`. Returns an empty key for an empty secret.
std::string handshake_key(const std::string &secret, std::string_view purpose);

/// Packs and reads the frames of one connection. A successful handshake gives it its seals.
class Channel {
  public:
    explicit Channel(std::size_t most_payload) : reader(most_payload) {}
    std::string pack(FrameKind kind, const SessionId &session, std::string payload) {
        return encode(ControlFrame{kind, session, std::move(payload)}, out_);
    }
    void seal(const Digest &in, const Digest &out);

    FrameReader reader;

  private:
    Seal out_;
};

/// The side of a handshake that opened the connection.
class Caller {
  public:
    /// `session`: zeros at the store.
    Caller(const Hello &hello, const SessionId &session, std::string key);
    /// Returns the bytes to send first.
    std::string hello(Channel &channel) const;
    /// Returns the bytes that answer a CHALLENGE. Throws UNAUTHENTICATED with `who` as the name of the called side.
    std::string answer(Channel &channel, const ControlFrame &challenge, const std::string &body,
                       const std::string &who);
    /// Checks the PROOF of the other side and seals the channel. Throws UNAUTHENTICATED as answer() does.
    void check(Channel &channel, const ControlFrame &proof, const std::string &who) const;

  private:
    Hello hello_;
    std::string hello_bytes_;
    SessionId session_;
    std::string key_;
    std::string transcript_; // once challenged
};

/// The side of a handshake that accepted the connection.
class Called {
  public:
    explicit Called(std::string key) : key_(std::move(key)) {}
    /// Returns the bytes that answer a HELLO, or nothing if it is no HELLO or is for another session.
    std::optional<std::string> challenge(Channel &channel, const ControlFrame &hello, const SessionId &session,
                                         const Digest &nonce);
    struct Proven {
        std::string body;   // came with the PROOF
        std::string answer; // bytes to send before anything else
    };
    /// Seals the channel if the PROOF is right. Returns nothing if it is not.
    std::optional<Proven> prove(Channel &channel, const ControlFrame &proof) const;
    const Hello &hello() const { return hello_; }
    /// Whether the caller's machine has the other byte order.
    bool other_byte_order() const { return other_byte_order_; }

  private:
    std::string key_;
    Hello hello_;
    std::string transcript_;
    bool other_byte_order_ = false;
};

/// Encodes a failure as the payload of REFUSED or ABORT, and decodes it. Decoding returns nothing for bad bytes.
std::string encode(const Failure &failure);
std::optional<Failure> decode_failure(std::string_view payload);

} // namespace mdist
