// SPDX-License-Identifier: Apache-2.0
// Turn: the right to use a job in cross-replica context. At most one thread has it.
#pragma once

namespace mdist {

class Job;

/// Holds the turn as long as it lives. Throws WRONG_CONTEXT inside a step of the job (naming `instead`) and on workers
/// that serve, and FAILED_PRECONDITION while another thread has the turn.
class Turn {
  public:
    Turn(Job &job, const char *function, const char *instead) : Turn(job, function, instead, false) {}
    /// The same for a worker that serves. Throws if another thread has the turn.
    static Turn of_server(Job &job, const char *function, const char *instead) {
        return {job, function, instead, true};
    }
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    /// Hands the turn to a run that was opened. The run keeps it after this object goes, until Use::end_run().
    /// Meanwhile, Use::end() and begin() lend it to the thread that works in a merge of the run, and take it back.
    void keep_for_run() noexcept;

  private:
    Turn(Job &job, const char *function, const char *instead, bool serves);

    Job &job_;
    bool taken_;
};

} // namespace mdist
