// SPDX-License-Identifier: Apache-2.0
// A communicator of the fake: what waits to begin, and how that went. Nothing begins in the call that asks for it, but
// when the communicator has been asked for its state often enough, as NCCL's calls that do not block may be.
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

    /// 0, in progress, or what went wrong for good; what is ready to begin begins.
    int state();
    /// Whether a call may come now: 0, or what it gets.
    int ready_for_call();
    /// These begin soon, as one, on the stream. `hang`: and never end, until this is aborted.
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
    NcclSide side_; // of whoever's turn it is

    std::mutex lock_;
    bool joined_ = false;
    bool finalizing_ = false;
    uint64_t polls_; // until something begins
    int error_ = 0;
    std::vector<Waiting> waiting_;
    std::atomic<uint64_t> given_ = 0; // to streams
    std::atomic<uint64_t> done_ = 0;
};

} // namespace fake_gpu
