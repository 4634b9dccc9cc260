// SPDX-License-Identifier: Apache-2.0
// Operators by their numbers, and calls that use one.
#pragma once

#include "comm/call/call.h"

#include <vector>

namespace mdist {

/// The operator with that number. Throws INVALID_ARGUMENT if there is none. Any thread.
std::shared_ptr<const reduce::Operator> operator_of(int32_t op);

/// A call whose op is an operator's number, as the library performs it: with the operator, and with buffers that count
/// its elements. Copies the buffer arrays. Throws INVALID_ARGUMENT for a buffer that is wrong by itself.
class OperatorCall {
  public:
    explicit OperatorCall(const Call &call);
    OperatorCall(const OperatorCall &) = delete;
    OperatorCall &operator=(const OperatorCall &) = delete;

    const Call &call() const { return call_; }

  private:
    const std::shared_ptr<const reduce::Operator> op_;
    std::vector<mdist_buffer_t> buffers_; // inputs, then outputs
    Call call_;
};

} // namespace mdist
