// SPDX-License-Identifier: Apache-2.0
// What comes from other workers. A slip that no worker would send ends the job.
#include "comm/call/bad_message.h"
#include "comm/mail/mail.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {

void Mail::check_slip(uint32_t worker, const MailSlip &slip) const {
    const Span &theirs = spans_[worker], &ours = spans_[self_];
    const bool is_answer = slip.kind == MailSlip::kAccept || slip.kind == MailSlip::kCredit;
    const bool has_ends = slip.kind == MailSlip::kEnded ? theirs.has(slip.from)
                          : is_answer                   ? ours.has(slip.from) && theirs.has(slip.to)
                                                        : theirs.has(slip.from) && ours.has(slip.to);
    const std::size_t size = dtype_size(slip.dtype);
    const bool has_form = is_answer || slip.kind == MailSlip::kEnded ||
                          (size != 0 && slip.form().elements <= PTRDIFF_MAX / size &&
                           (slip.kind != MailSlip::kSmall || slip.form().bytes() <= Carrier::kSmallBytes));
    if (slip.kind < MailSlip::kSmall || slip.kind > MailSlip::kEnded || !has_ends || !has_form)
        throw bad_message(worker, text("a message of kind ", uint32_t{slip.kind}, " from replica ", slip.from,
                                       " to replica ", slip.to, " that cannot be"));
}

char *Mail::place(uint32_t worker, const MailSlip &slip) {
    check_slip(worker, slip);
    Landing &landing = landing_[worker] = {};
    if (slip.kind == MailSlip::kData) {
        const auto found = std::find_if(accepted_.begin(), accepted_.end(), [&](const Accepted &each) {
            return each.worker == worker && each.number == slip.number;
        });
        if (found == accepted_.end() || !(found->receive->form == slip.form()))
            throw bad_message(worker, "bytes that nobody has asked for");
        landing.receive = found->receive;
        accepted_.erase(found);
        return landing.receive->data;
    }
    landing.receive = take_receive(slip.key(), slip.form());
    if (landing.receive != nullptr) return landing.receive->data;
    if (has_left(slip.to, slip.run)) throw left_with_message(slip.key(), slip.form());
    Message message = {slip.key(), slip.form()};
    message.worker = worker;
    message.bytes.reset(new char[slip.form().bytes()]);
    message.complete = false;
    landing.message = &add(std::move(message));
    return landing.message->bytes.get();
}

void Mail::arrived(uint32_t worker, const MailSlip &slip) {
    check_slip(worker, slip);
    switch (slip.kind) {
        case MailSlip::kOffer:
            return offered(worker, slip);
        case MailSlip::kAccept:
            return accepted(worker, slip);
        case MailSlip::kCredit: {
            Pair &between = pair(slip.from, slip.to);
            if (slip.elements > kReturned) throw bad_message(worker, "more room for messages than there is");
            between.may_send += static_cast<uint32_t>(slip.elements);
            return;
        }
        case MailSlip::kEnded:
            return left(slip);
        default:
            return landed(worker, slip);
    }
}

/// The bytes of a message are there.
void Mail::landed(uint32_t worker, const MailSlip &slip) {
    const Landing landing = std::exchange(landing_[worker], {});
    Post *receive = landing.receive;
    if (landing.message != nullptr) {
        Messages &messages = messages_[local(slip.to)];
        const auto message = std::find_if(messages.begin(), messages.end(),
                                          [&](const Message &each) { return &each == landing.message; });
        message->complete = true;
        receive = message->receive;
        if (receive == nullptr) return;
        std::copy_n(message->bytes.get(), message->form.bytes(), receive->data);
        forget(message);
    }
    carrier_->drop_want(worker);
    if (slip.is_small()) received_small(slip.key());
    finish(*receive);
}

void Mail::offered(uint32_t worker, const MailSlip &slip) {
    if (slip.number == 0) throw bad_message(worker, "an offer without a number");
    if (Post *const receive = take_receive(slip.key(), slip.form())) return accept(worker, slip.number, *receive);
    if (has_left(slip.to, slip.run)) throw left_with_message(slip.key(), slip.form());
    Message message = {slip.key(), slip.form()};
    message.worker = worker;
    message.number = slip.number;
    add(std::move(message));
}

void Mail::accept(uint32_t worker, uint32_t number, Post &receive) {
    accepted_.push_back({worker, number, &receive});
    receive.met.store(true, std::memory_order_release);
    carrier_->send(worker, MailSlip::of(MailSlip::kAccept, receive.key, receive.form, number));
}

void Mail::accepted(uint32_t worker, const MailSlip &slip) {
    const auto found = std::find_if(offered_.begin(), offered_.end(), [&](const Post *each) {
        return each->number == slip.number && each->key == slip.key();
    });
    if (found == offered_.end()) throw bad_message(worker, "an answer to an offer that was not made");
    Post &send = **found;
    offered_.erase(found);
    send.met.store(true, std::memory_order_release);
    carrier_->drop_want(worker);
    carrier_->send_data(worker, MailSlip::of(MailSlip::kData, send.key, send.form, send.number), send);
}

/// A replica of another worker has left its step. All its messages have come before.
void Mail::left(const MailSlip &slip) {
    for (const std::list<Post *> &receives : receives_)
        for (const Post *const post : receives)
            if (post->key.from == slip.from && post->key.run == slip.run) throw left_awaited(*post);
    for (const Post *const post : offered_)
        if (post->key.to == slip.from && post->key.run == slip.run) throw left_awaited(*post);
    left_elsewhere_.emplace_back(slip.from, slip.run);
    untidy_.store(true, std::memory_order_relaxed);
}

} // namespace mdist
