// SPDX-License-Identifier: Apache-2.0
// Reach: which replicas a call in cross-replica context is for. They are those of its own worker. In an in-graph job
// (`strategy: in_graph`), worker 0 is the client, which leads all others by commands: its calls are for all replicas,
// unless it does its own part of a command (Context::in_part_of). Needs no turn.
#pragma once

#include "device/device.h"
#include "util/failure.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

class Config;
class Job;
class Replicas;
class Workers;

/// The replicas that values of cross-replica context belong to.
struct View {
    uint32_t first;    // replica id
    uint32_t replicas; // a value that is not plain has a tensor for each of them
    uint32_t workers;  // with such values; 1 if the view covers all replicas of the job
    uint32_t worker;   // this worker's number among those
};

class Reach {
  public:
    Reach(const Job &job, const Replicas &replicas, const Config &config);

    /// The replicas that values belong to on this thread.
    View view() const;
    /// The device of a replica in view(). For a replica of another worker, its local stand-in.
    Device &place(uint32_t replica) const;
    /// "cpu:1", or "worker:1/cpu:1" for a replica of another worker.
    std::string place_name(uint32_t replica) const;
    /// Index in view() of the device with this name. Throws INVALID_ARGUMENT, listing the device names.
    uint32_t device_index(const std::string &name) const;

    bool in_graph() const { return in_graph_; }
    /// Whether this thread would give commands to the other workers.
    bool commands() const;
    /// Throws UNSUPPORTED if this thread would give commands. For functions that no command exists for.
    void require_no_commands(const char *function, const char *instead) const;
    /// The failure of a worker that calls a function reserved for the client.
    Failure not_the_client(const char *function) const;

    /// Learns the device names of all replicas of an in-graph job, from all workers; nullptr: there are no others.
    void learn_names(Workers *others, uint64_t timeout_ns);

  private:
    const Job &job_;
    const Replicas &replicas_;
    const bool in_graph_;
    std::vector<std::string> names_; // of an in-graph job, by replica id
};

} // namespace mdist
