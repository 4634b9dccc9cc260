// SPDX-License-Identifier: Apache-2.0
// LineCutter: cuts a worker's output, which comes in pieces, into lines. A line may contain any bytes. One thread at a
// time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mdist {

/// How a piece of a line ends.
enum class LineEnd {
    kNewline,
    kReturn, // '\r', written by progress bars: the next piece overwrites this one
    kOpen,   // not at all so far
};

class LineCutter {
  public:
    /// The longest line. Longer ones are cut, so that a worker that writes no newline cannot fill the memory.
    static constexpr std::size_t kLongest = 1 << 20;

    /// Calls take(text, end) for each complete line, without the character at its end.
    template <class Take>
    void feed(std::string_view bytes, Take &&take) {
        for (std::size_t at; (at = bytes.find_first_of("\n\r")) != std::string_view::npos;
             bytes.remove_prefix(at + 1)) {
            const LineEnd end = bytes[at] == '\n' ? LineEnd::kNewline : LineEnd::kReturn;
            if (rest_.empty()) {
                take(bytes.substr(0, at), end);
            } else {
                rest_.append(bytes.substr(0, at));
                flush(end, take);
            }
            open_ = end != LineEnd::kNewline;
        }
        rest_.append(bytes);
        if (rest_.size() >= kLongest) flush(LineEnd::kNewline, take);
    }

    /// Whether part of a line is held back.
    bool holds() const { return !rest_.empty(); }
    /// Passes on the part that is held back, although its line goes on.
    template <class Take>
    void flush_part(Take &&take) {
        if (holds()) flush(LineEnd::kOpen, take);
    }

    /// Ends the stream. A part that is left becomes a line.
    template <class Take>
    void finish(Take &&take) {
        if (holds() || open_) flush(LineEnd::kNewline, take);
    }

  private:
    template <class Take>
    void flush(LineEnd end, Take &&take) {
        take(std::string_view(rest_), end);
        rest_.clear();
        open_ = end != LineEnd::kNewline;
    }

    std::string rest_;
    bool open_ = false; // the last piece did not end its line
};

} // namespace mdist
