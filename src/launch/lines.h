// SPDX-License-Identifier: Apache-2.0
// LineCutter: cuts what a worker writes, piece by piece, into lines. Any bytes may be in a line; one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mdist {

class LineCutter {
  public:
    /// A longer line comes in pieces of this size, so that a worker that writes no newline cannot fill the memory.
    static constexpr std::size_t kLongest = 1 << 20;

    /// Calls take(line), without newline, for each line that is complete.
    template <class Take>
    void feed(std::string_view bytes, Take &&take) {
        for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
            if (rest_.empty()) {
                take(bytes.substr(0, end));
            } else {
                rest_.append(bytes.substr(0, end));
                finish(take);
            }
        }
        rest_.append(bytes);
        if (rest_.size() >= kLongest) finish(take);
    }

    /// The end of the stream: what is left is a line too.
    template <class Take>
    void finish(Take &&take) {
        if (!rest_.empty()) take(std::string_view(rest_));
        rest_.clear();
    }

  private:
    std::string rest_;
};

} // namespace mdist
