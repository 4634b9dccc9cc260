// SPDX-License-Identifier: Apache-2.0
// The ways in which workers can perform a collective: the library's own schedules, and the exchange of headers that
// some of them need before. Lengths are real, data is not: all workers read and write the same memory.
#pragma once

#include "comm/schedules/schedule.h"

#include <functional>
#include <memory>
#include <span>

#include "model.h"
#include "network.h"

namespace mdist::costs {

/// A collective of one replica for each worker. `bytes` is the length of the whole result: of an all-gather, what a
/// worker has in the end; of a reduce-scatter, what it has at first.
struct Task {
    const Layout &layout;
    std::size_t bytes;
};

/// What all workers of a simulated job have in common while they perform a collective.
class Job {
  public:
    virtual ~Job() = default;
    /// How long the messages are whose content matters: of headers, tables, and what relays pass on.
    virtual std::size_t read() const { return 32768; }
    /// Makes the worker's part. It begins now.
    virtual std::unique_ptr<Schedule> part(Network &network, uint32_t worker) = 0;
};

struct Way {
    const char *pattern;
    const char *name;
    /// Whether it works, and is worth trying, in that layout with so many bytes.
    bool (*fits)(const Task &task);
    std::unique_ptr<Job> (*make)(const Task &task, const std::function<void(double bytes)> &summed);
};
std::span<const Way> ways();

} // namespace mdist::costs
