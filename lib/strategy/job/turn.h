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

    /// Hands the turn to a run that was opened. The run keeps it after this object goes, until end_run().
    void keep_for_run() noexcept;
    static void end_run(Job &job) noexcept;
    /// Between keep_for_run() and end_run(), makes the turn available to the thread that works in a merge of the run.
    static void lend(Job &job) noexcept;
    /// Takes the turn back after lend(). Returns false while another thread has it.
    static bool take_back(Job &job) noexcept;

  private:
    Turn(Job &job, const char *function, const char *instead, bool serves);

    Job &job_;
    bool taken_;
};

} // namespace mdist
