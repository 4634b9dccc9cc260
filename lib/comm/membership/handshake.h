// SPDX-License-Identifier: Apache-2.0
// Handshake: how a connection begins, the same way at the store and between workers.
//
//   caller                                      called
//   HELLO  who I am, nonce         ->
//                                  <-  CHALLENGE  nonce, HMAC(key, "called" + both)
//   PROOF  HMAC(key, "caller" + both + body), body ->
//                                  <-  WELCOME, PROGRESS, REFUSED or TRY_AGAIN, from here on sealed
//
// Both sides prove that they know the key and that they answer to this very connection; a key of its own for each
// direction follows from it. Without a key the proofs are zeros and nothing is sealed. Pure state; one thread at a
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/membership/frame.h"
#include "util/failure.h"

namespace mdist {

enum class Role : uint8_t { kJoin = 1, kControl, kData };

inline constexpr std::size_t kMostJobBytes = 255;
/// Payload of what a stranger may send first.
inline constexpr std::size_t kMostHelloBytes = 512;

struct Hello {
    Role role = Role::kJoin;
    bool with_secret = false;
    uint32_t rank = 0;
    uint32_t size = 0;
    uint32_t restart = 0;
    uint32_t number = 0; // of a data connection between these two
    Digest nonce = {};
    std::string job;
};

std::string encode(const Hello &hello);

/// The key of handshakes for `purpose`; empty for an empty secret.
std::string handshake_key(const std::string &secret, std::string_view purpose);

/// A connection that has got its seals, or is to get them.
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

class Caller {
  public:
    /// `session`: zeros at the store.
    Caller(const Hello &hello, const SessionId &session, std::string key);
    /// Bytes to send first.
    std::string hello(Channel &channel) const;
    /// Bytes that answer a CHALLENGE; seals the channel. Throws UNAUTHENTICATED, saying `who` was called.
    std::string answer(Channel &channel, const ControlFrame &challenge, const std::string &body,
                       const std::string &who) const;

  private:
    Hello hello_;
    std::string hello_bytes_;
    SessionId session_;
    std::string key_;
};

class Called {
  public:
    explicit Called(std::string key) : key_(std::move(key)) {}
    /// Bytes that answer a HELLO; none if it is not one, or not for this session.
    std::optional<std::string> challenge(Channel &channel, const ControlFrame &hello, const SessionId &session,
                                         const Digest &nonce);
    /// The body of a PROOF that holds; seals the channel. Otherwise nothing.
    std::optional<std::string> body_of(Channel &channel, const ControlFrame &proof) const;
    const Hello &hello() const { return hello_; }
    /// A frame that was sent in another byte order than this machine's.
    bool other_byte_order() const { return other_byte_order_; }
    bool lacks_secret() const { return !key_.empty() && !hello_.with_secret; }

  private:
    std::string key_;
    Hello hello_;
    std::string transcript_;
    bool other_byte_order_ = false;
};

/// A failure as the payload of REFUSED or ABORT, and back; nothing if it is none.
std::string encode(const Failure &failure);
std::optional<Failure> decode_failure(std::string_view payload);

} // namespace mdist
