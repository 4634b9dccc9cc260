// SPDX-License-Identifier: Apache-2.0
// Staging: performs a collective of GPU memory through the host: every one of several workers that NCCL does not do, and
// those with an operator of the program, which runs on the host. It copies the inputs to page-locked memory. The workers
// do there what they do for CPUs, or the leading thread reduces, and the results are copied back.
//
// In a reduction, a GPU first adds up what this worker's replicas have: each subtree of the canonical tree that lies
// among them (reduce/partials.h). Only these sums go to the host. An all-reduce's results come back once for each GPU.
//
// So the bits are those of every other layout. The memory is kept for the next operation, whose inputs are fetched
// after the results of this one. One thread at a time.
#pragma once

#include "comm/call/call.h"
#include "comm/device/lanes.h"
#include "device/device.h"
#include "device/gpu/event.h"

#include <cstddef>
#include <vector>

namespace mdist {

class Group;
class Workers;

class Staging {
  public:
    explicit Staging(Lanes &lanes) : lanes_(lanes) {}

    /// Performs the collective. calls[i] belongs to local replica i; the calls are the same on all workers, and
    /// checked. `workers` is nullptr if there is one worker; the calls then have an operator. The lanes already wait for
    /// all parties. Returns when the results are on their way to the outputs. Throws what ended the job, what an
    /// operator failed with, DEVICE, or TIMEOUT.
    void perform(const Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns);

  private:
    /// A sum of some replicas' buffers that a GPU makes.
    struct Sum {
        Lane *lane;
        uint32_t first, count; // parties
        std::size_t index;     // of its place in partials_
        std::size_t buffer;
        std::size_t element_bytes; // of a partial
    };

    void find_sums(const Call *const *calls, Workers *workers);
    Lane *lane_reaching(uint32_t first, uint32_t count) const;
    void make_room(std::size_t bytes, const Group &group, uint64_t timeout_ns);
    std::size_t place_all(const Call *const *calls, char *memory);
    void lay_out(const Call *const *calls, const Group &group, uint64_t timeout_ns);
    void fetch(const Call *const *calls, const Workers *workers);
    void add_up(const Call *const *calls, const Sum &sum);
    void await_lanes(const Group &group, uint64_t timeout_ns);
    void give_back(const Call *const *calls);
    void wait_for_results();

    Lanes &lanes_;
    Memory memory_;
    std::size_t bytes_ = 0;                            // of it
    std::vector<Event> sent_;                          // after the results of the previous operation, by lane
    std::vector<Sum> sums_;                            // of this operation
    std::vector<char> summed_;                         // whether a sum has an input, by party and buffer
    std::vector<void *> partials_;                     // on the host: Call::partials
    std::vector<std::vector<mdist_buffer_t>> buffers_; // by party: inputs on the host, then outputs
};

} // namespace mdist
