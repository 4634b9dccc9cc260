// SPDX-License-Identifier: Apache-2.0
// Input: a file's bytes through a buffer, which knows where it stands. By one thread at a time.
//
// Memory follows what is there, not what a file claims: record() believes a length only as far as the file is known to
// reach, and else grows with what comes.
#pragma once

#include "data/files/bytes.h"
#include "device/tensor.h"
#include "util/failure.h"

#include <string>
#include <string_view>

namespace mdist {

class Input {
  public:
    static constexpr std::size_t kBuffer = 256 << 10;

    /// `path` is for messages. `peek` is the most that will be asked of peek(). Nothing is read yet.
    Input(std::unique_ptr<Bytes> bytes, std::string path, bool packed, std::size_t peek = kBuffer);

    /// Of the next byte, in the unpacked data.
    uint64_t offset() const { return offset_; }
    /// Bytes from here to the end, where that is known.
    std::optional<uint64_t> left() const;

    /// The next `wanted` bytes, which stay; fewer at the end only.
    std::string_view peek(std::size_t wanted);
    /// What is in the buffer, at least one byte; nothing at the end only.
    std::string_view some() { return peek(1).empty() ? std::string_view() : buffered(); }
    /// Leaves out up to `count` bytes, to the end at most.
    void skip(uint64_t count);
    /// The next `bytes` as a uint8 tensor, or an undefined one, with everything read, where fewer are left.
    Tensor record(uint64_t bytes);

    /// From now on this is the end.
    void abandon();
    bool abandoned() const { return abandoned_; }
    /// DATA_LOSS, reason "corrupt", with file and `offset`.
    Failure corrupt(uint64_t offset, std::string_view what) const;

  private:
    std::string_view buffered() const { return {buffer_.get() + begin_, end_ - begin_}; }
    void refill();
    std::size_t read(char *to, std::size_t count);
    std::size_t fetch(char *to, std::size_t most);

    std::unique_ptr<Bytes> bytes_;
    std::string path_;
    bool packed_;
    std::size_t capacity_;
    std::unique_ptr<char[]> buffer_; // not there before the first byte is read
    std::size_t begin_ = 0, end_ = 0;
    uint64_t offset_ = 0;
    bool abandoned_ = false;
};

} // namespace mdist
