// SPDX-License-Identifier: Apache-2.0
// Use: whether some thread or open run has the turn of a job (turn.h), and whether the job was closed. Any thread.
#pragma once

#include "util/failure.h"

#include <atomic>
#include <cstdint>

namespace mdist {

class Use {
  public:
    /// Takes the turn. Returns false while another thread or an open run has it.
    bool begin() noexcept { return !busy_.exchange(true); }
    void end() noexcept { busy_ = false; }
    /// Lets an open run have the turn that the caller has. Nested runs are counted.
    void begin_run() noexcept { ++open_runs_; }
    void end_run() noexcept {
        --open_runs_;
        end();
    }
    bool in_open_run() const { return open_runs_ != 0; }

    bool closed() const { return closed_; }
    /// Throws FAILED_PRECONDITION if the strategy was closed.
    void require_open() const {
        if (closed_) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the strategy was destroyed").reason("destroyed");
    }
    /// Lets no further run begin. Returns whether one may be under way.
    bool close() noexcept {
        // Each side writes its own flag before it reads the other's flag, so at least one of them sees both.
        closed_ = true;
        return in_use();
    }
    /// Whether the job is closed and nobody has the turn. True once: two threads may find it so, and one stops it.
    bool is_over() noexcept { return closed_ && !in_use() && !over_.exchange(true); }

  private:
    bool in_use() const { return busy_ || open_runs_ != 0; }

    std::atomic<bool> busy_{false};
    std::atomic<uint32_t> open_runs_{0};
    std::atomic<bool> closed_{false}; // set once; no run begins afterwards
    std::atomic<bool> over_{false};
};

} // namespace mdist
