// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/dialer.h"

#include <algorithm>
#include <cstring>

#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kFirstPauseNs = 50'000'000;
constexpr uint64_t kLongestPauseNs = 2'000'000'000;
constexpr uint64_t kAttemptNs = 10'000'000'000;
constexpr const char *kStrange = "the process that answers there is not a worker of this job";

/// Returns a random time from half to all of `pause_ns`, so that workers sent away together do not come back together.
uint64_t with_jitter(World &world, uint64_t pause_ns) {
    uint32_t random = 0;
    world.random(&random, sizeof random);
    return pause_ns / 2 + pause_ns / 2 * (random % 1024) / 1024;
}

} // namespace

Dialer::Dialer(World &world, Dial dial) : world_(world), dial_(std::move(dial)), channel_(dial_.most_payload) {
    next_ns_ = world_.now_ns();
}

void Dialer::attempt() {
    channel_ = Channel(kMostUnprovenBytes);
    world_.random(dial_.hello.nonce.data(), dial_.hello.nonce.size());
    caller_.emplace(dial_.hello, dial_.session, dial_.key);
    connection_ = world_.connect(target());
    state_ = State::kConnecting;
    next_ns_ = world_.now_ns() + kAttemptNs;
}

void Dialer::connected() {
    state_ = State::kGreeting;
    world_.send(connection_, caller_->hello(channel_));
}

std::optional<ControlFrame> Dialer::received(std::string_view bytes) {
    channel_.reader.feed(bytes);
    auto frame = channel_.reader.next();
    if (!frame) {
        const FrameReader::Fault fault = channel_.reader.fault();
        if (fault == FrameReader::Fault::kVersion && state_ == State::kGreeting) {
            const Failure failure = of_another_version();
            retry(failure.message());
            throw failure;
        }
        if (fault != FrameReader::Fault::kNone) retry(kStrange);
        return std::nullopt;
    }
    try {
        return heard(std::move(*frame));
    } catch (const Failure &failure) {
        retry(failure.message());
        throw;
    }
}

Failure Dialer::of_another_version() const {
    return Failure(MDIST_ERR_CONFIG, text(dial_.who, " speaks version ", channel_.reader.version(),
                                          " of the protocol between workers, but this worker speaks version ",
                                          kProtocolVersion, "; run the same libmdist on all workers"))
        .reason("different_version");
}

/// Handles a frame of the handshake. Until the other side has proved itself it may be anybody. So before its proof it
/// can only refuse.
std::optional<ControlFrame> Dialer::heard(ControlFrame frame) {
    if (state_ == State::kGreeting && frame.kind == FrameKind::kChallenge) {
        const std::string body = dial_.make_body ? dial_.make_body(connection_) : std::string();
        world_.send(connection_, caller_->answer(channel_, frame, body, dial_.who));
        state_ = State::kProving;
        next_ns_ = UINT64_MAX; // from now on the other side may rely on this connection
        return std::nullopt;
    }
    if (state_ == State::kProving && frame.kind == FrameKind::kProof) {
        caller_->check(channel_, frame, dial_.who);
        channel_.reader.set_most_payload(dial_.most_payload);
        state_ = State::kProven;
        return std::nullopt;
    }
    if (state_ != State::kProven && frame.kind != FrameKind::kRefused) {
        retry(kStrange);
        return std::nullopt;
    }
    state_ = State::kDone;
    next_ns_ = UINT64_MAX;
    return frame;
}

void Dialer::closed(int error) {
    connection_ = 0;
    if (error != 0)
        retry(std::strerror(error));
    else
        retry(state_ == State::kProving || state_ == State::kProven ? "it closed the connection after the handshake"
                                                                    : "it closed the connection");
}

void Dialer::retry(const std::string &problem) {
    give_up();
    problem_ = text(text_of(target()), ": ", problem);
    ++attempts_;
    const uint32_t rounds = attempts_ / static_cast<uint32_t>(dial_.to.size());
    const bool next_address = attempts_ % dial_.to.size() != 0;
    const uint64_t pause = std::min(kLongestPauseNs, kFirstPauseNs << std::min(rounds, 10u));
    next_ns_ = world_.now_ns() + (next_address ? 0 : with_jitter(world_, pause));
}

void Dialer::give_up() {
    if (connection_ != 0) world_.close(connection_);
    connection_ = 0;
    state_ = State::kPausing;
    next_ns_ = UINT64_MAX;
}

void Dialer::tick() {
    if (world_.now_ns() < next_ns_) return;
    if (state_ == State::kPausing)
        attempt();
    else if (state_ != State::kDone)
        retry("no answer within 10 s");
}

} // namespace mdist
