// SPDX-License-Identifier: Apache-2.0
// Input: reads a file through a buffer and knows its offset. For one thread at a time.
//
// Memory grows with the data that is really there, not with a length that a file claims. record() trusts a length only
// if the file is known to reach that far; otherwise its memory grows as data arrives.
#pragma once

#include "data/files/bytes.h"
#include "data/room.h"
#include "device/tensor.h"
#include "util/failure.h"

#include <string>
#include <string_view>

namespace mdist {

class Input {
  public:
    static constexpr std::size_t kBuffer = 256 << 10;

    /// `path` is for messages. `peek` is the largest count that peek() will be called with. Reads nothing yet.
    Input(std::unique_ptr<Bytes> bytes, std::string path, bool packed, std::size_t peek = kBuffer);

    /// Returns the offset of the next byte in the unpacked data.
    uint64_t offset() const { return offset_; }
    /// Returns the number of bytes from here to the end, if known.
    std::optional<uint64_t> left() const;

    /// Returns the next `wanted` bytes without taking them. Returns fewer only at the end.
    std::string_view peek(std::size_t wanted);
    /// Returns what is in the buffer without taking it: at least one byte, or nothing at the end.
    std::string_view some() { return peek(1).empty() ? std::string_view() : buffered(); }
    /// Skips `count` bytes, or fewer at the end.
    void skip(uint64_t count);
    struct Record {
        const char *data = nullptr; // null: fewer bytes were left
        Tensor tensor = {};         // undefined if `data` is in the room
    };
    /// Reads the next `bytes` into `room`, if that has memory for them, or else into a uint8 tensor. `room` may be null.
    /// If fewer bytes are left, skips none or all of them.
    Record record(uint64_t bytes, Room *room);

    /// Gives up: from now on nothing more can be read.
    void abandon();
    bool abandoned() const { return abandoned_; }
    /// Makes a DATA_LOSS failure, reason "corrupt", that names the file and `offset`.
    Failure corrupt(uint64_t offset, std::string_view what) const;

  private:
    std::string_view buffered() const { return {buffer_.get() + begin_, end_ - begin_}; }
    void refill();
    std::size_t read(char *to, std::size_t count);
    Record grown(uint64_t bytes, uint64_t begin);
    std::size_t fetch(char *to, std::size_t most);

    std::unique_ptr<Bytes> bytes_;
    std::string path_;
    bool packed_;
    std::size_t capacity_;
    std::unique_ptr<char[]> buffer_; // null until the first byte is read
    std::size_t begin_ = 0, end_ = 0;
    uint64_t offset_ = 0;
    bool abandoned_ = false;
    bool large_ = false; // the last record was so large that a full buffer would only be copied
};

} // namespace mdist
