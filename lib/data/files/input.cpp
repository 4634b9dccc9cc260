// SPDX-License-Identifier: Apache-2.0
#include "data/files/input.h"

#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

/// From here on, a part of a record is read to its place without going through the buffer. A smaller one would not pay
/// for the call.
constexpr std::size_t kDirect = 32 << 10;
/// The bytes to read beyond a record of which most bypasses the buffer.
constexpr std::size_t kBeyond = 4 << 10;

Tensor room_for(uint64_t bytes) {
    Shape shape;
    shape.rank = 1;
    shape.dims[0] = bytes;
    return Tensor::allocate(*host(), MDIST_UINT8, shape);
}

} // namespace

Input::Input(std::unique_ptr<Bytes> bytes, std::string path, bool packed, std::size_t peek)
    : bytes_(std::move(bytes)), path_(std::move(path)), packed_(packed), capacity_(std::max(peek, kBuffer)) {
    // A small file needs no large buffer.
    if (const std::optional<uint64_t> left = bytes_->left(); left && *left < capacity_)
        capacity_ = static_cast<std::size_t>(std::max<uint64_t>(*left, 1));
}

std::optional<uint64_t> Input::left() const {
    if (abandoned_) return 0;
    const std::optional<uint64_t> more = bytes_->left();
    return more ? std::optional(*more + (end_ - begin_)) : std::nullopt;
}

/// Reads from the file. After a failure nothing more can be read: another try would begin at an unknown offset.
std::size_t Input::fetch(char *to, std::size_t most) {
    if (abandoned_) return 0;
    try {
        return bytes_->read(to, most);
    } catch (...) {
        abandon();
        throw;
    }
}

void Input::refill() {
    if (buffer_ == nullptr) buffer_.reset(new char[capacity_]);
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    end_ += fetch(buffer_.get() + end_, std::min(capacity_ - end_, large_ ? kBeyond : capacity_));
}

std::string_view Input::peek(std::size_t wanted) {
    wanted = std::min(wanted, capacity_);
    while (end_ - begin_ < wanted) {
        const std::size_t before = end_ - begin_;
        refill();
        if (end_ - begin_ == before) break;
    }
    return buffered().substr(0, wanted);
}

void Input::skip(uint64_t count) {
    if (count > end_ - begin_) large_ = false;
    while (count != 0 && !some().empty()) {
        const auto part = static_cast<std::size_t>(std::min<uint64_t>(count, end_ - begin_));
        begin_ += part;
        offset_ += part;
        count -= part;
    }
}

/// Reads up to `count` bytes. Large parts bypass the buffer: one copy less.
std::size_t Input::read(char *to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
        std::size_t part = std::min(count - done, end_ - begin_);
        if (part != 0) {
            std::memcpy(to + done, buffer_.get() + begin_, part);
            begin_ += part;
        } else if (count - done >= kDirect) {
            part = fetch(to + done, count - done);
            if (part == 0) break;
        } else if (some().empty()) {
            break;
        }
        done += part;
        offset_ += part;
    }
    return done;
}

Input::Record Input::record(uint64_t bytes, Room *room) {
    constexpr uint64_t kTrusted = 1 << 20; // allocated at once even if the file is not known to hold so much
    if (bytes > end_ - begin_) { // or else the buffer holds it
        const std::optional<uint64_t> known = left();
        if (known && bytes > *known) return {};
        if (!known && bytes > kTrusted) return grown(bytes, kTrusted);
    }
    large_ = bytes >= 2 * kDirect;
    Record out;
    char *to = room == nullptr ? nullptr : room->of(bytes);
    if (to == nullptr) {
        out.tensor = room_for(bytes);
        to = static_cast<char *>(out.tensor.data());
    }
    if (read(to, bytes) < bytes) return {};
    out.data = to;
    return out;
}

/// Reads a record into memory that grows from `begin` bytes, as its bytes arrive.
Input::Record Input::grown(uint64_t bytes, uint64_t begin) {
    Tensor tensor = room_for(begin);
    for (uint64_t have = 0;;) {
        have += read(static_cast<char *>(tensor.data()) + have, tensor.bytes() - have);
        if (have < tensor.bytes()) return {};
        if (have == bytes) break;
        Tensor larger = room_for(std::min(bytes, 2 * have));
        std::memcpy(larger.data(), tensor.data(), have);
        tensor = std::move(larger);
    }
    const char *const data = static_cast<const char *>(tensor.data());
    return {data, std::move(tensor)};
}

void Input::abandon() {
    abandoned_ = true;
    begin_ = end_ = 0;
}

Failure Input::corrupt(uint64_t offset, std::string_view what) const {
    return Failure(MDIST_ERR_DATA_LOSS,
                   text(in_quotes(path_), " at byte ", offset, packed_ ? " of its unpacked data: " : ": ", what))
        .reason("corrupt");
}

} // namespace mdist
