// SPDX-License-Identifier: Apache-2.0
// Device: where a replica's memory lies, how bytes get in and out of it, and what computes there.
//
// It is the one interface between the library and the CPU, CUDA, or a simulated GPU in tests. Memory may outlive the
// device that gave it out. Any thread may call all functions. A GPU does its work in order, after the work that its
// replica's step has given it (on its stream). On the CPU all work is done when a function returns.
#pragma once

#include "reduce/operation.h"

#include <mdist/tensor.h>

#include <cstddef>
#include <memory>
#include <string>

namespace mdist {

/// Memory of a device. It is given back when the last reference goes.
using Memory = std::shared_ptr<void>;

class Gpu;
class MemorySource;

/// Where memory lies, in the terms of mdist_tensor_t.
struct Place {
    int32_t kind = MDIST_DEVICE_CPU; // mdist_device_kind_t
    int32_t index = 0;               // of the physical GPU; 0 for the host

    bool on_host() const { return kind == MDIST_DEVICE_CPU; }
    bool operator==(const Place &) const = default;
};

class Device {
  public:
    virtual ~Device() = default;

    virtual mdist_device_kind_t kind() const = 0;
    virtual int32_t index() const = 0;
    /// "cpu:1", "gpu:0/1" for the second logical device of gpu:0
    virtual std::string name() const = 0;
    /// Where its memory lies.
    virtual Place place() const { return {}; }
    /// This device as a Gpu, if it is one.
    virtual Gpu *gpu() { return nullptr; }

    /// Allocates at least one byte, 64-byte aligned, with undefined content. Throws OUT_OF_MEMORY.
    virtual Memory allocate(std::size_t bytes) = 0;
    /// A source of memory that grows and never moves. nullptr: use the host's.
    virtual std::shared_ptr<MemorySource> memory_source() { return nullptr; }

    // These are done on return, and come after all work that was given before. Ranges must not overlap.
    /// Copies from host memory.
    virtual void copy_in(void *to, const void *from_host, std::size_t bytes) = 0;
    /// Copies to host memory.
    virtual void copy_out(void *to_host, const void *from, std::size_t bytes) const = 0;

    // These happen in order, but may not be done on return:
    virtual void zero(void *data, std::size_t bytes) = 0;
    /// zero(), for memory that its user gives up. Any thread.
    virtual void zero_given_up(void *data, std::size_t bytes) { zero(data, bytes); }
    /// Copies within its memory. Ranges must be the same or not overlap.
    virtual void copy(void *to, const void *from, std::size_t bytes) = 0;
    /// Like reduce::reduce().
    virtual void reduce(const reduce::Operation &operation, const void *const *sources, std::size_t source_count,
                        void *const *destinations, std::size_t destination_count, std::size_t elements) = 0;
    /// to[i] = from[i], += or -=, as the mdist_assign_t says.
    virtual void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) = 0;
    /// Like reduce::divide().
    virtual void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) = 0;
    /// Like reduce::scale().
    virtual void scale(int32_t dtype, void *to, double factor, std::size_t elements) = 0;

    /// Returns when all work that was given is done. Throws DEVICE with what went wrong there, or TIMEOUT if it takes
    /// too long.
    virtual void finish() {}
};

std::shared_ptr<Device> make_cpu_device(int32_t index);

/// The CPU, for memory that belongs to no replica in particular.
const std::shared_ptr<Device> &host();

} // namespace mdist
