// SPDX-License-Identifier: Apache-2.0
#include "comm/mail/carrier.h"

#include <cstring>

namespace mdist {
namespace {

constexpr uint64_t kTag = 0; // the slips say what comes next
constexpr std::size_t kMostSpare = 16;

} // namespace

MailSlip MailSlip::of(Kind kind, const MailKey &key, const MailForm &form, uint32_t number) {
    MailSlip slip;
    slip.kind = kind;
    slip.from = key.from;
    slip.to = key.to;
    slip.tag = key.tag;
    slip.run = key.run;
    slip.dtype = static_cast<uint16_t>(form.dtype);
    slip.elements = form.elements;
    slip.number = number;
    return slip;
}

Carrier::Carrier(Link &link, Desk &desk) : link_(link), desk_(desk), in_(link.parties()) {}

Carrier::Out &Carrier::next_out(uint32_t worker, const MailSlip &slip) {
    if (spare_.empty()) spare_.emplace_back();
    out_.splice(out_.end(), spare_, spare_.begin());
    Out &out = out_.back();
    out.slip = slip;
    out.pending = {};
    out.post = nullptr;
    under_way_.fetch_add(1, std::memory_order_seq_cst);
    posted_ = true;
    link_.send(worker, kTag, &out.slip, sizeof out.slip, out.pending);
    return out;
}

void Carrier::send(uint32_t worker, const MailSlip &slip) {
    next_out(worker, slip);
}

bool Carrier::send_now(uint32_t worker, const MailKey &key, const MailForm &form, const char *data) {
    const MailSlip slip = MailSlip::of(MailSlip::kSmall, key, form);
    const Link::Message bytes = {form.bytes() == 0 ? nullptr : data, form.bytes()};
    return link_.send_now(worker, kTag, {&slip, sizeof slip}, bytes);
}

void Carrier::send_copy(uint32_t worker, const MailKey &key, const MailForm &form, const char *data) {
    Out &out = next_out(worker, MailSlip::of(MailSlip::kSmall, key, form));
    if (form.bytes() == 0) return;
    std::memcpy(out.bytes, data, form.bytes());
    link_.send(worker, kTag, out.bytes, form.bytes(), out.pending);
}

void Carrier::send_data(uint32_t worker, const MailSlip &slip, Post &post) {
    Out &out = next_out(worker, slip);
    out.post = &post;
    if (post.form.bytes() != 0) link_.send(worker, kTag, post.data, post.form.bytes(), out.pending);
}

void Carrier::want(uint32_t worker) {
    if (closed_) return;
    ++in_[worker].wanted;
    under_way_.fetch_add(1, std::memory_order_seq_cst);
    listen(worker);
}

void Carrier::drop_want(uint32_t worker) {
    --in_[worker].wanted;
    under_way_.fetch_sub(1, std::memory_order_seq_cst);
}

void Carrier::listen(uint32_t worker) {
    In &in = in_[worker];
    if (in.wanted == 0 || in.state != State::kIdle || closed_) return;
    link_.receive(worker, kTag, &in.slip, sizeof in.slip, in.pending);
    posted_ = true;
    in.state = State::kSlip;
}

bool Carrier::look() {
    posted_ = false;
    for (auto out = out_.begin(); out != out_.end() && !closed_;) {
        const auto done = out++;
        if (!done->pending.done()) continue;
        Post *const post = done->pending.dropped ? nullptr : done->post; // it ends with the job then
        under_way_.fetch_sub(1, std::memory_order_seq_cst);
        if (spare_.size() < kMostSpare)
            spare_.splice(spare_.begin(), out_, done);
        else
            out_.erase(done);
        if (post != nullptr) desk_.sent(*post);
    }
    for (uint32_t worker = 0; worker < in_.size() && !closed_; ++worker) look(worker);
    return posted_;
}

void Carrier::look(uint32_t worker) {
    In &in = in_[worker];
    if (in.state == State::kIdle || !in.pending.done()) return;
    if (in.state == State::kSlip && in.slip.has_bytes()) {
        char *const at = desk_.place(worker, in.slip); // checks the length
        const std::size_t bytes = in.slip.form().bytes();
        if (bytes != 0 && !link_.receive_now(worker, kTag, at, bytes)) {
            link_.receive(worker, kTag, at, bytes, in.pending);
            in.state = State::kBytes;
            posted_ = true;
            return;
        }
    }
    const MailSlip slip = in.slip;
    in.state = State::kIdle;
    desk_.arrived(worker, slip);
    listen(worker);
}

void Carrier::close() noexcept {
    if (closed_) return;
    closed_ = true;
    link_.close();
    out_.clear();
    for (In &in : in_) in = {};
    under_way_.store(0, std::memory_order_seq_cst);
}

void Carrier::leave() noexcept {
    closed_ = true; // what is posted stays: the link may hold its addresses
    under_way_.store(0, std::memory_order_seq_cst);
}

} // namespace mdist
