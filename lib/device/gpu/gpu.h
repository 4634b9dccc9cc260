// SPDX-License-Identifier: Apache-2.0
// Gpu: the device of one replica of one strategy: a physical GPU, and the stream on which the replica works.
//
// Each logical device of a GPU is a Gpu of its own; they share one PhysicalGpu. The Device functions put their work on
// the stream, and only copy_in, copy_out and finish() wait. The stream is the library's own, or one that the step has
// supplied for its duration (use_stream). Called by the replica's thread, or by one thread at a time on its behalf
// (which has the strategy's turn).
#pragma once

#include "device/device.h"
#include "device/gpu/event.h"
#include "device/gpu/physical.h"
#include "device/gpu/replica_stream.h"

#include <atomic>
#include <memory>
#include <vector>

namespace mdist {

class Gpu final : public Device {
  public:
    /// `logical` is the number of the logical device on the GPU, from 0. Throws as PhysicalGpu::at() does.
    Gpu(int32_t index, int32_t logical);

    mdist_device_kind_t kind() const override { return MDIST_DEVICE_GPU; }
    int32_t index() const override { return physical_.index(); }
    std::string name() const override;
    Place place() const override { return {MDIST_DEVICE_GPU, physical_.index()}; }
    Gpu *gpu() override { return this; }

    /// The memory may be given back while the stream will still use it.
    Memory allocate(std::size_t bytes) override;
    /// Allocates memory that is already filled with zeros on return. Any thread.
    Memory allocate_zeros(std::size_t bytes);
    std::shared_ptr<MemorySource> memory_source() override;
    void copy_in(void *to, const void *from_host, std::size_t bytes) override;
    void copy_out(void *to_host, const void *from, std::size_t bytes) const override;
    void zero(void *data, std::size_t bytes) override;
    void zero_given_up(void *data, std::size_t bytes) override;
    void copy(void *to, const void *from, std::size_t bytes) override;
    void reduce(const reduce::Operation &operation, const void *const *sources, std::size_t source_count,
                void *const *destinations, std::size_t destination_count, std::size_t elements) override;
    void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) override;
    void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) override;
    void scale(int32_t dtype, void *to, double factor, std::size_t elements) override;
    void finish() override;
    /// The same, but waits for nothing while work of this process is overdue (overdue.h), on whatever GPU.
    void finish_unless_overdue();
    /// Like mdist_gpu_api::squares.
    void squares(const std::vector<mdist_gpu_squares> &items);

    PhysicalGpu &physical() const { return physical_; }
    mdist_gpu_stream *stream() const { return stream_->get(); }
    ReplicaStream &replica_stream() const { return *stream_; }
    /// Whether the stream is being recorded (graph.h).
    bool recording() const { return stream_->recording(); }
    /// Uses the step's own stream from here on; that first waits for the work on the library's stream. nullptr: uses
    /// the library's stream again, which waits for the step's.
    void use_stream(mdist_gpu_stream *stream) { stream_->use(stream); }
    /// The same at the end of a step, even after a failure: the current stream may soon be destroyed. Throws DEVICE,
    /// TIMEOUT.
    void return_to(mdist_gpu_stream *stream);

    /// A mark after everything the stream was given so far.
    Event record();
    /// Makes the stream's later work wait for the mark, which may be on another GPU. If the stream cannot be told so,
    /// this thread waits instead.
    void wait_for(const Event &event);

    /// The longest time that finish() and the copies wait for the GPU.
    void set_timeout(uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }
    uint64_t timeout() const { return timeout_ns_; }
    /// Whether every function that gives work waits until it is done (`gpu.blocking`).
    void set_blocking(bool blocking) { blocking_ = blocking; }
    bool blocking() const { return blocking_; }
    /// Call it after putting work on the stream, with the result. Throws what `error` means, and waits if
    /// set_blocking(true).
    void given(int error, const char *what) const;

  private:
    void write_on_host(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements);
    void copy_host(void *to, const void *from, std::size_t bytes, const char *what) const;
    void wait_until_done(const char *what) const;
    Failure not_done(const char *what) const;

    PhysicalGpu &physical_;
    const int32_t logical_;
    const std::shared_ptr<ReplicaStream> stream_;
    std::atomic<uint64_t> timeout_ns_; // atomic: allocations of any thread read it
    bool blocking_ = false;
};

} // namespace mdist
