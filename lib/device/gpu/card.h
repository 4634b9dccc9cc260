// SPDX-License-Identifier: Apache-2.0
// GpuCard: the basics of one GPU that everything else uses: its functions, its events, and the text of its failures.
// Every PhysicalGpu is one; like that it is never destroyed. Any thread.
#pragma once

#include "device/gpu/module.h"
#include "device/gpu/retired.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

/// The failure that an error number of the module stands for. It is DEVICE, with the number as native code, or
/// OUT_OF_MEMORY. `what` says what was being done: "gpu:0: copying" becomes "gpu:0: copying failed:
/// cudaErrorIllegalAddress: ...". After an error that no process recovers from, all cards are unsound.
Failure gpu_failure(const mdist_gpu_api &api, int error, const std::string &what);

class GpuCard {
  public:
    GpuCard(const GpuCard &) = delete;
    GpuCard &operator=(const GpuCard &) = delete;

    int32_t index() const { return index_; }
    const mdist_gpu_api &api() const { return api_; }
    const mdist_gpu_info &info() const { return info_; }

    /// Waits until a stream has nothing more to do. Returns false if that takes longer. Throws what is wrong with the
    /// GPU.
    bool wait_for_stream(mdist_gpu_stream *stream, uint64_t timeout_ns, const char *what) const;

    /// Events without timing, which are reused. For Event only.
    mdist_gpu_event *take_event();
    void keep_event(mdist_gpu_event *event) noexcept;

    /// What goes back to CUDA.
    RetiredQueue &retired() { return retired_; }
    /// Calls `ask`, which asks CUDA for memory. If there is none, waits for memory that goes back to CUDA, and asks
    /// once more. Returns the last error.
    int ask_for_memory(FunctionRef<int()> ask);

    /// Throws gpu_failure() of this card, so that `what` is just "copying"; does nothing for 0.
    void check(int error, const char *what) const {
        if (error != 0) throw failure(error, what);
    }
    Failure failure(int error, const std::string &what) const;
    /// Throws if an earlier failure, on any GPU of the process, was one that no process recovers from (an illegal
    /// address).
    void require_sound() const;

  protected:
    GpuCard(int32_t index, const mdist_gpu_api &api, const mdist_gpu_info &info)
        : index_(index), api_(api), info_(info) {}
    ~GpuCard() = default;

  private:
    const int32_t index_;
    const mdist_gpu_api &api_;
    const mdist_gpu_info info_;
    RetiredQueue retired_;
    std::mutex mutex_;                      // guards what follows
    std::vector<mdist_gpu_event *> events_; // events that are not in use
};

} // namespace mdist
