// SPDX-License-Identifier: Apache-2.0
// CallArrays: own copies of the arrays that a call borrows, for a call that outlives them.
#pragma once

#include "comm/call/call.h"

#include <vector>

namespace mdist {

class CallArrays {
  public:
    /// Has `call` borrow the copies from now on.
    explicit CallArrays(Call &call)
        : buffers_(copied(call.inputs, call.outputs, call.buffer_count)),
          parts_(copied(call.input_parts, call.output_parts, call.buffer_count * call.part_count)) {}
    CallArrays(const CallArrays &) = delete;
    CallArrays &operator=(const CallArrays &) = delete;

  private:
    /// The two arrays, one after the other. Without memory if they are NULL.
    template <class T>
    static std::vector<T> copied(const T *&first, const T *&second, std::size_t count) {
        std::vector<T> both;
        if (first == nullptr) return both;
        both.reserve(2 * count + 1); // one more: NULL would mean a call of a kind without such arrays
        both.assign(first, first + count);
        both.insert(both.end(), second, second + count);
        first = both.data();
        second = both.data() + count;
        return both;
    }

    std::vector<mdist_buffer_t> buffers_; // inputs, then outputs
    std::vector<uint64_t> parts_;         // the same of a call with parts
};

} // namespace mdist
