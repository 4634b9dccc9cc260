// SPDX-License-Identifier: Apache-2.0
// A communicator of the simulated NCCL: the operations that have not begun yet, and its state. As in a non-blocking
// communicator of NCCL, no operation begins in the call that requests it. It begins after the state has been polled
// often enough.
#pragma once

#include "nccl_work.h"

#include <memory>
#include <mutex>
#include <vector>

namespace fake_gpu {

class Communicator : public std::enable_shared_from_this<Communicator> {
  public:
    Communicator(int32_t device, int32_t ranks, int32_t rank, std::unique_ptr<Membership> membership);

    int32_t device() const { return side_.device; }
    int32_t ranks() const { return side_.ranks; }

    /// Returns 0, "in progress", or the final error. Begins operations that are ready.
    int state();
    /// Returns 0 if a call may be made now, else its error.
    int ready_for_call();
    /// Begins these calls later, as one operation on the stream. With `hang` it does not end until it is aborted.
    int begin(mdist_gpu_stream *stream, std::vector<NcclCall> calls, bool hang);
    int finalize();
    bool finalized();
    void fail(int error);
    void abort();

  private:
    struct Waiting {
        mdist_gpu_stream *stream;
        std::vector<NcclCall> calls;
        bool hang;
    };

    int look();
    void put_on_stream(Waiting waiting);
    int run(const Waiting &waiting, uint64_t number);

    const std::unique_ptr<Membership> membership_;
    std::atomic<bool> aborted_ = false;
    NcclSide side_; // used by one stream at a time

    std::mutex lock_;
    bool joined_ = false;
    bool finalizing_ = false;
    uint64_t polls_; // left before an operation begins
    int error_ = 0;
    std::vector<Waiting> waiting_;
    std::atomic<uint64_t> given_ = 0; // operations given to streams
    std::atomic<uint64_t> done_ = 0;
};

} // namespace fake_gpu
