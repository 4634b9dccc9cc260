// SPDX-License-Identifier: Apache-2.0
// LongWait: logs a warning when a wait for others gets long, and another line when it is over.
//
// A waiting thread makes a LongWait, waits for slice_ns() at a time, and calls look() in between. The first warning
// comes after `log.wait_after`, others after twice, four times ... that time. A wait that ends before the first warning
// logs nothing, and does not read the clock for it. One thread at a time.
#pragma once

#include "util/function_ref.h"

#include <cstdint>
#include <memory>
#include <string>

namespace mdist {

/// "replica 0" waits in "mdist_all_reduce(...)" for "replica 2, which has entered 3".
struct WaitText {
    std::string who; // empty: log nothing, since another thread does it for this one
    std::string where;
    std::string whom;
};

/// "300 ms", "30 s"
std::string waited_text(uint64_t ns);

class LongWait {
  public:
    using Describe = FunctionRef<WaitText()>;

    /// The wait begins with the first slice.
    LongWait() = default;
    explicit LongWait(uint64_t begin_ns) noexcept : begin_ns_(begin_ns) {}
    ~LongWait() { end(); }
    LongWait(const LongWait &) = delete;
    LongWait &operator=(const LongWait &) = delete;

    /// Sets `log.wait_after` for all waits in this process from now on.
    static void set_after(uint64_t ns) noexcept;

    /// How long to wait at most before the next look(), and the time of that look().
    uint64_t slice_ns() const noexcept;
    uint64_t next_ns() const noexcept;
    /// Logs that the wait is long, if it is time to. Call it when slice_ns() have passed, or at any other time.
    void look(Describe describe) noexcept;
    /// Ends the wait. Logs that it is over, if look() logged that it was long.
    void end() noexcept {
        if (told_) tell_end();
    }
    bool told() const noexcept { return told_ != nullptr; }
    /// Ends this wait, and begins another one of the same thread.
    void begin(uint64_t begin_ns) noexcept {
        end();
        begin_ns_ = begin_ns;
        due_ns_ = 0;
    }

  private:
    uint64_t due_ns() const noexcept;
    void tell_end() noexcept;

    uint64_t begin_ns_ = 0; // 0: not known
    uint64_t due_ns_ = 0;   // length of the wait at the next warning; 0: `log.wait_after`
    std::unique_ptr<WaitText> told_;
};

} // namespace mdist
