// SPDX-License-Identifier: Apache-2.0
#include "data/files/input.h"

#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

Tensor room(uint64_t bytes) {
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
    end_ += fetch(buffer_.get() + end_, capacity_ - end_);
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
    while (count != 0 && !some().empty()) {
        const auto part = static_cast<std::size_t>(std::min<uint64_t>(count, end_ - begin_));
        begin_ += part;
        offset_ += part;
        count -= part;
    }
}

/// Reads up to `count` bytes. Large parts bypass the buffer.
std::size_t Input::read(char *to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
        std::size_t part = std::min(count - done, end_ - begin_);
        if (part != 0) {
            std::memcpy(to + done, buffer_.get() + begin_, part);
            begin_ += part;
        } else if (count - done >= capacity_) {
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

Tensor Input::record(uint64_t bytes) {
    constexpr uint64_t kTrusted = 1 << 20; // allocated at once even if the file is not known to hold so much
    const std::optional<uint64_t> known = left();
    if (known && bytes > *known) return skip(bytes), Tensor();
    Tensor tensor = room(known ? bytes : std::min(bytes, kTrusted));
    uint64_t have = 0;
    for (;;) {
        have += read(static_cast<char *>(tensor.data()) + have, tensor.bytes() - have);
        if (have < tensor.bytes()) return Tensor();
        if (have == bytes) return tensor;
        Tensor larger = room(std::min(bytes, 2 * have));
        std::memcpy(larger.data(), tensor.data(), have);
        tensor = std::move(larger);
    }
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
