// SPDX-License-Identifier: Apache-2.0
#include "comm/links/tcp_stream.h"

#include "comm/call/bad_message.h"
#include "util/crc32c.h"
#include "util/text.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr std::size_t kBufferBytes = 65536;
/// How much to read beyond the end of a message in the same call. Small, because the start of another large message
/// would then be copied twice.
constexpr std::size_t kBehind = 4096;
constexpr std::size_t kGathered = 32; // messages written in one call

} // namespace

void TcpStream::open(OpenFile socket) {
    buffer_.reset(new char[kBufferBytes]);
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // faster, if the system allows it
    socket_ = std::move(socket);
}

void TcpStream::send(uint64_t tag, const void *data, std::size_t bytes, Pending &pending) {
    pending.dropped = pending.dropped || dropping_;
    if (dropping_) return;
    Frame frame = {tag, bytes};
    if (checksums_) {
        frame.data_sum = crc32c(data, bytes);
        frame.own_sum = sum_of(frame);
    }
    sends_.push_back({frame, static_cast<const char *>(data), &pending});
    ++pending.count;
}

void TcpStream::receive(uint64_t tag, void *data, std::size_t bytes, Pending &pending) {
    receives_.push_back({{tag, bytes}, static_cast<char *>(data), &pending});
    ++pending.count;
    if (end_ != begin_) empty_ = false;
}

short TcpStream::waits_for() const {
    if (!socket_.is_open()) return 0;
    return static_cast<short>((writes() ? POLLOUT : 0) | (reads() ? POLLIN : 0));
}

void TcpStream::found(short events) {
    // Trying finds out about an error or the end.
    if ((events & ~POLLIN) != 0) full_ = false;
    if ((events & ~POLLOUT) != 0) empty_ = false;
}

void TcpStream::write() {
    while (socket_.is_open() && writes() && !full_) {
        iovec parts[2 * kGathered];
        std::size_t count = 0;
        std::size_t bytes = 0;
        std::size_t skip = sent_;
        const auto append = [&](const void *data, std::size_t size) {
            const std::size_t skipped = std::min(skip, size);
            skip -= skipped;
            if (skipped == size) return;
            parts[count++] = {const_cast<char *>(static_cast<const char *>(data)) + skipped, size - skipped};
            bytes += size - skipped;
        };
        for (std::size_t i = 0; i < std::min(sends_.size(), kGathered); ++i) {
            append(&sends_[i].frame, sizeof(Frame));
            append(sends_[i].data, sends_[i].frame.bytes);
        }
        msghdr message = {};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            written(static_cast<std::size_t>(sent));
            full_ = static_cast<std::size_t>(sent) < bytes;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM) {
            full_ = true;
        } else if (errno != EINTR) {
            drops_ ? drop_sends() : lose(errno);
        }
    }
}

void TcpStream::drop_sends() {
    dropping_ = true;
    for (const Send &send : sends_) {
        send.pending->dropped = true;
        --send.pending->count;
    }
    sends_.clear();
}

void TcpStream::written(std::size_t bytes) {
    sent_ += bytes;
    while (!sends_.empty() && sent_ >= sizeof(Frame) + sends_.front().frame.bytes) {
        moved_ += 1 + (sizeof(Frame) + sends_.front().frame.bytes) / Link::kChunk;
        sent_ -= sizeof(Frame) + sends_.front().frame.bytes;
        --sends_.front().pending->count;
        sends_.pop_front();
    }
}

void TcpStream::read() {
    if (!socket_.is_open()) return;
    while (take_buffered(), reads() && !empty_) {
        // All buffered bytes have been taken, except a part of a frame.
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        const std::size_t wanted = in_message_ ? receives_.front().frame.bytes - received_ : 0;
        const std::size_t behind = in_message_ ? kBehind : kBufferBytes - end_;
        iovec parts[2] = {{receives_.front().data + received_, wanted}, {buffer_.get() + end_, behind}};
        msghdr message = {};
        message.msg_iov = in_message_ ? parts : parts + 1;
        message.msg_iovlen = in_message_ ? 2 : 1;
        const ssize_t got = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
        if (got > 0) {
            const auto bytes = static_cast<std::size_t>(got);
            received_ += std::min(bytes, wanted);
            end_ += bytes - std::min(bytes, wanted);
            empty_ = bytes < wanted + behind;
        } else if (got == 0) {
            lose(0);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            empty_ = true;
        } else if (errno != EINTR) {
            lose(errno);
        }
    }
}

/// Hands buffered bytes to the posted receives.
void TcpStream::take_buffered() {
    while (in_message_ || begin_message()) {
        const Receive &receive = receives_.front();
        const std::size_t bytes = std::min(receive.frame.bytes - received_, end_ - begin_);
        if (bytes != 0) std::memcpy(receive.data + received_, buffer_.get() + begin_, bytes);
        begin_ += bytes;
        received_ += bytes;
        if (received_ < receive.frame.bytes) return;
        finish_message();
    }
}

bool TcpStream::begin_message() {
    if (receives_.empty() || end_ - begin_ < sizeof(Frame)) return false;
    Frame frame;
    std::memcpy(&frame, buffer_.get() + begin_, sizeof frame);
    if (checksums_ && frame.own_sum != sum_of(frame)) throw_changed("the frame of a message");
    const Frame &wanted = receives_.front().frame;
    if (frame.tag != wanted.tag || frame.bytes != wanted.bytes)
        throw other_message(peer_, frame.bytes, frame.tag, wanted.bytes, wanted.tag);
    begin_ += sizeof frame;
    received_ = 0;
    announced_sum_ = frame.data_sum;
    return in_message_ = true;
}

void TcpStream::finish_message() {
    const Receive &done = receives_.front();
    if (checksums_ && crc32c(done.data, done.frame.bytes) != announced_sum_)
        throw_changed(text("a message of ", done.frame.bytes, " bytes").c_str());
    --receives_.front().pending->count;
    receives_.pop_front();
    in_message_ = false;
    moved_ += 1 + received_ / Link::kChunk;
    received_ = 0;
}

uint32_t TcpStream::sum_of(const Frame &frame) {
    return crc32c(&frame, offsetof(Frame, own_sum));
}

void TcpStream::throw_changed(const char *what) const {
    throw Failure(MDIST_ERR_DATA_LOSS,
                  text(what, " from worker ", peer_, " was changed on the way (its checksum does not match its bytes)"))
        .worker(peer_)
        .reason("checksum");
}

void TcpStream::lose(int error) {
    gone_ = true;
    error_ = error;
    if (drops_) drop_sends();
}

void TcpStream::check() const {
    if (!gone_ || (sends_.empty() && receives_.empty())) return;
    throw Failure(MDIST_ERR_PEER_LOST, error_ == 0 ? text("worker ", peer_, " has closed its data connection")
                                                   : text("the data connection with worker ", peer_,
                                                          " broke: ", std::generic_category().message(error_)))
        .worker(peer_)
        .native(error_);
}

void TcpStream::shut_down() noexcept {
    if (socket_.is_open()) ::shutdown(socket_.get(), SHUT_RDWR);
    gone_ = true;
    sends_.clear();
    receives_.clear();
}

} // namespace mdist
