// SPDX-License-Identifier: Apache-2.0
// Staging: a collective of several workers' GPU memory by way of the host: inputs are copied to page-locked memory, the
// workers do there what they do for CPUs, and the results are copied back.
//
// So the bits are those of every other layout. The memory is kept for the next operation, whose inputs are
// fetched behind the results of the one before. One thread at a time.
#pragma once

#include "comm/call.h"
#include "device/device.h"
#include "device/gpu/event.h"

#include <cstddef>
#include <vector>

namespace mdist {

class Group;
class GpuGroup;

class Staging {
  public:
    explicit Staging(GpuGroup &gpus) : gpus_(gpus) {}

    /// calls[i] is local replica i's; alike on all, and checked. The lanes wait for everybody already. Returns when the
    /// results are on their way to the outputs. Throws what ended the job, DEVICE, or TIMEOUT.
    void perform(Group &group, const Call *const *calls, uint64_t timeout_ns);

  private:
    void make_room(std::size_t bytes, const Group &group, uint64_t timeout_ns);
    void lay_out(const Call *const *calls, const Group &group, uint64_t timeout_ns);
    void fetch(const Call *const *calls, uint32_t first_replica);
    void await_lanes(const Group &group, uint64_t timeout_ns);
    void give_back(const Call *const *calls);
    void wait_for_results();

    GpuGroup &gpus_;
    Memory memory_;
    std::size_t bytes_ = 0;                            // of it
    std::vector<Event> sent_;                          // behind the results of the operation before, by lane
    std::vector<std::vector<mdist_buffer_t>> buffers_; // by party: inputs on the host, then outputs
};

} // namespace mdist
