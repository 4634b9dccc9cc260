// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/handshake.h"

#include <cstring>

#include "util/payload.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

constexpr uint32_t kByteOrderMark = 0x01020304;
constexpr uint32_t kOtherByteOrder = 0x04030201;
constexpr std::size_t kMostFailureText = 2048;

/// Returns the mark in this machine's byte order, since workers send each other arrays in native byte order.
std::array<unsigned char, 4> native_mark() {
    std::array<unsigned char, 4> bytes = {};
    std::memcpy(bytes.data(), &kByteOrderMark, sizeof kByteOrderMark);
    return bytes;
}

std::string transcript_of(const SessionId &session, std::string_view hello, const Digest &nonce) {
    return PayloadWriter().bytes(session).text(hello).bytes(nonce).take();
}

Digest proof(const std::string &key, std::string_view who, std::string_view transcript, std::string_view body = {}) {
    if (key.empty()) return {};
    return keyed_digest(key, PayloadWriter().text(who).text(transcript).text(body).take());
}

Digest direction_key(const std::string &key, std::string_view direction, std::string_view transcript) {
    return keyed_digest(key, PayloadWriter().text(direction).text(transcript).take());
}

} // namespace

std::string encode(const Hello &hello) {
    return PayloadWriter()(native_mark(), hello).take();
}

std::string handshake_key(const std::string &secret, std::string_view purpose) {
    if (secret.empty()) return {};
    return std::string(view_of(keyed_digest(secret, text("mdist handshake 2 ", purpose))));
}

void Channel::seal(const Digest &in, const Digest &out) {
    reader.set_seal(Seal(in));
    out_ = Seal(out);
}

Caller::Caller(const Hello &hello, const SessionId &session, std::string key)
    : hello_(hello), session_(session), key_(std::move(key)) {
    hello_.with_secret = !key_.empty();
    hello_bytes_ = encode(hello_);
}

std::string Caller::hello(Channel &channel) const {
    return channel.pack(FrameKind::kHello, session_, hello_bytes_);
}

std::string Caller::answer(Channel &channel, const ControlFrame &challenge, const std::string &body,
                           const std::string &who) {
    PayloadReader reader(challenge.payload);
    const bool with_secret = reader.number<uint8_t>() != 0;
    const auto nonce = reader.bytes<sizeof(Digest)>();
    const auto refuse = [&](std::string_view why) { throw Failure(MDIST_ERR_UNAUTHENTICATED, text(who, ' ', why)); };
    if (!reader.complete()) refuse("answers in a way that this version does not know");
    if (with_secret && key_.empty()) refuse("requires a secret; set secret_file as on the other workers");
    if (!with_secret && !key_.empty())
        refuse("has no secret, but this worker has one; set secret_file on all workers or on none");
    transcript_ = transcript_of(session_, hello_bytes_, nonce);
    const Digest mine = proof(key_, "caller", transcript_, body);
    return channel.pack(FrameKind::kProof, session_, PayloadWriter().bytes(mine).text(body).take());
}

void Caller::check(Channel &channel, const ControlFrame &frame, const std::string &who) const {
    PayloadReader reader(frame.payload);
    const auto theirs = reader.bytes<sizeof(Digest)>();
    if (!reader.complete() || !same_digest(theirs, proof(key_, "called", transcript_)))
        throw Failure(
            MDIST_ERR_UNAUTHENTICATED,
            text(who, " has a different secret from this worker's; secret_file must hold the same text everywhere"));
    if (!key_.empty())
        channel.seal(direction_key(key_, "to caller", transcript_), direction_key(key_, "to called", transcript_));
}

std::optional<std::string> Called::challenge(Channel &channel, const ControlFrame &frame, const SessionId &session,
                                             const Digest &nonce) {
    if (frame.kind != FrameKind::kHello || frame.session != session) return std::nullopt;
    PayloadReader reader(frame.payload);
    const auto mark = reader.bytes<4>();
    uint32_t order = 0;
    std::memcpy(&order, mark.data(), sizeof order);
    reader(hello_);
    other_byte_order_ = order == kOtherByteOrder;
    const bool known_role = hello_.role >= Role::kJoin && hello_.role <= Role::kElastic;
    if (!reader.complete() || (order != kByteOrderMark && !other_byte_order_) || !known_role ||
        hello_.job.size() > kMostJobBytes)
        return std::nullopt;
    transcript_ = transcript_of(session, frame.payload, nonce);
    return channel.pack(FrameKind::kChallenge, session,
                        PayloadWriter().number(static_cast<uint8_t>(!key_.empty())).bytes(nonce).take());
}

std::optional<Called::Proven> Called::prove(Channel &channel, const ControlFrame &frame) const {
    if (frame.kind != FrameKind::kProof) return std::nullopt;
    PayloadReader reader(frame.payload);
    const auto theirs = reader.bytes<sizeof(Digest)>();
    Proven proven{reader.text(), {}};
    if (!reader.complete() || !same_digest(theirs, proof(key_, "caller", transcript_, proven.body)))
        return std::nullopt;
    const Digest mine = proof(key_, "called", transcript_);
    proven.answer = channel.pack(FrameKind::kProof, frame.session, PayloadWriter().bytes(mine).take());
    if (!key_.empty())
        channel.seal(direction_key(key_, "to called", transcript_), direction_key(key_, "to caller", transcript_));
    return proven;
}

std::string encode(const Failure &failure) {
    const auto cut = [](const std::string &text) {
        return text.size() <= kMostFailureText ? text : utf8_within(kMostFailureText, text);
    };
    return PayloadWriter()(static_cast<int32_t>(failure.status()), failure.worker(), failure.replica(),
                           failure.native(), cut(failure.reason()), cut(failure.operation()), cut(failure.message()))
        .take();
}

std::optional<Failure> decode_failure(std::string_view payload) {
    PayloadReader reader(payload);
    int32_t status = 0;
    uint32_t worker = 0, replica = 0;
    int64_t native = 0;
    std::string reason, operation, message;
    reader(status, worker, replica, native, reason, operation, message);
    if (!reader.complete() || status > MDIST_ERR_INVALID_ARGUMENT || status <= MDIST_ERR_INTERNAL)
        return std::nullopt; // no worker sends an INTERNAL failure
    return Failure(static_cast<mdist_status_t>(status), std::move(message))
        .reason(std::move(reason))
        .operation(std::move(operation))
        .worker(worker)
        .replica(replica)
        .native(native);
}

} // namespace mdist
