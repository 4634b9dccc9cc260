// SPDX-License-Identifier: Apache-2.0
#include "comm/mail/parcel.h"

#include "comm/call/buffers.h"
#include "device/gpu/overdue.h"
#include "util/text.h"

namespace mdist {
namespace {

Memory host_for(const Gpu *gpu, const mdist_buffer_t &buffer) {
    return gpu == nullptr || buffer.elements == 0 ? Memory() : host()->allocate(bytes_of(buffer));
}

mdist_buffer_t at(const Memory &memory, mdist_buffer_t buffer) {
    if (memory) buffer.data = memory.get();
    return buffer;
}

} // namespace

Parcel::Parcel(Mail &mail, Gpu *gpu, bool sends, uint32_t party, const MailKey &key, const mdist_buffer_t &buffer,
               uint64_t timeout_ns, bool started)
    : mail_(mail),
      gpu_(gpu),
      buffer_(buffer),
      host_(host_for(gpu, buffer)),
      post_(sends, party, key, at(host_, buffer), timeout_ns) {
    post_.started = started;
    if (!host_) return;
    if (sends)
        gpu_->copy_out(host_.get(), buffer.data, bytes_of(buffer));
    else
        before_ = gpu_->record();
}

bool Parcel::deliver() {
    if (!host_ || post_.is_send) return true;
    const std::lock_guard lock(mutex_);
    if (delivered_) return true;
    if (!before_.wait(post_.timeout_ns))
        throw not_done(gpu_->physical(), gpu_->stream(), text(gpu_->name(), ": the work before ", post_.function()),
                       post_.timeout_ns);
    copy_between(buffer_.data, gpu_->place(), host_.get(), Place(), bytes_of(buffer_));
    delivered_ = true;
    return true;
}

void Parcel::settle(const Failure &cause) noexcept {
    mail_.settle(post_, cause);
}

} // namespace mdist
