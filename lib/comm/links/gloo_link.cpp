// SPDX-License-Identifier: Apache-2.0
#include "comm/links/gloo_link.h"

#include "comm/call/bad_message.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/write_signals.h"

#include <algorithm>

namespace mdist {
namespace {

/// Mixes the bits of both into all bits of the result (the last step of MurmurHash3).
uint32_t hash(uint64_t tag, uint64_t bytes) {
    uint64_t x = tag * 0x9e3779b97f4a7c15 + bytes;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
    return static_cast<uint32_t>(x ^ (x >> 33));
}

uint64_t slot_of(uint32_t number, uint64_t tag, uint64_t bytes) {
    return uint64_t{number} << 32 | hash(tag, bytes);
}

uint32_t number_of(uint64_t slot) {
    return static_cast<uint32_t>(slot >> 32);
}

} // namespace

GlooLink::GlooLink(uint32_t self, uint32_t parties, const std::string &address, const std::vector<uint32_t> &peers,
                   uint64_t connect_timeout_ns)
    : self_(self), parties_(parties) {
    context_ = std::make_shared<GlooContext>(make_gloo_device(address), static_cast<int>(self),
                                             static_cast<int>(parties), events_);
    constexpr uint64_t kTimesThat = 5; // a connecting pair waits five times its timeout
    context_->setTimeout(std::chrono::milliseconds(connect_timeout_ns / 1'000'000 / kTimesThat + 1));
    for (const uint32_t peer : peers)
        parties_.at(peer).pair = static_cast<GlooPair *>(context_->createPair(static_cast<int>(peer)).get());
}

GlooLink::~GlooLink() {
    close();
}

void GlooLink::send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) {
    post(true, peer, tag, const_cast<void *>(data), bytes, pending);
}

void GlooLink::receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) {
    post(false, peer, tag, data, bytes, pending);
}

void GlooLink::post(bool is_send, uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) {
    const std::lock_guard lock(mutex_);
    if (closed_) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
    Party &party = parties_.at(peer);
    if (party.pair == nullptr)
        throw Failure(MDIST_ERR_INTERNAL, text("worker ", self_, " formed no pair with worker ", peer));
    const uint64_t slot = slot_of((is_send ? party.sent : party.received)++, tag, bytes);
    operations_.push_back({is_send, peer, slot, tag, std::make_unique<GlooBuffer>(context_, data, bytes), &pending});
    ++pending.count;
    gloo::transport::UnboundBuffer &buffer = *operations_.back().buffer;
    const WriteSignalsHeld held; // Gloo writes with writev; if the peer has gone, that raises SIGPIPE
    try {
        if (is_send)
            buffer.send(static_cast<int>(peer), slot);
        else
            buffer.recv(static_cast<int>(peer), slot);
    } catch (const std::exception &error) { // progress() reports it
        party.pair->lose(gloo_reason(error));
    }
}

void GlooLink::progress() {
    seen_ = events_.now();
    const std::lock_guard lock(mutex_);
    Operation *stranded = nullptr;
    for (auto operation = operations_.begin(); operation != operations_.end();) {
        const bool lost = parties_[operation->peer].pair->lost(); // before asking for completion: none comes after
        if (operation->buffer->complete()) {
            --operation->pending->count;
            operation = operations_.erase(operation);
        } else {
            if (lost && stranded == nullptr) stranded = &*operation;
            ++operation;
        }
    }
    if (operations_.empty()) return;
    check_agreement();
    if (stranded != nullptr)
        throw Failure(MDIST_ERR_PEER_LOST, text("the connection with worker ", stranded->peer,
                                                " is lost: ", parties_[stranded->peer].pair->reason()))
            .worker(stranded->peer);
}

/// Throws if a peer announced a different message with the number of one that waits here.
void GlooLink::check_agreement() {
    context_->announced(announced_);
    for (const GlooAnnouncement &theirs : announced_)
        for (const Operation &ours : operations_)
            if (ours.peer == theirs.peer && ours.is_send != theirs.is_send && ours.slot != theirs.slot &&
                number_of(ours.slot) == number_of(theirs.slot))
                throw bad_message(ours.peer, text("an announcement that does not match message ", number_of(ours.slot),
                                                  ": this worker ", ours.is_send ? "sends " : "awaits ",
                                                  ours.buffer->size, " bytes with tag ", ours.tag));
}

void GlooLink::wait(uint64_t timeout_ns) {
    events_.wait(seen_, {}, timeout_ns);
}

void GlooLink::interrupt() noexcept {
    events_.advance();
}

void GlooLink::close() noexcept {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    for (Party &party : parties_)
        if (party.pair != nullptr) party.pair->shut();
    operations_.clear(); // each waits until the loop thread has let go of its memory
    events_.advance();
}

} // namespace mdist
