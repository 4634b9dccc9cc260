// SPDX-License-Identifier: Apache-2.0
// Device: where a replica's memory lies, how bytes get in and out of it, and who computes there.
//
// The one interface between the library and CPU, CUDA or a fake of it in tests. Memory may outlive the device that gave
// it out. All functions may be called from any thread.
// A GPU does what it is given in order, behind what its replica's step has given it (its stream). On the CPU all is
// done when a function returns.
#pragma once

#include "reduce/reduce.h"

#include <mdist/tensor.h>

#include <cstddef>
#include <memory>
#include <string>

namespace mdist {

/// Memory of a device, given back with the last reference.
using Memory = std::shared_ptr<void>;

class Gpu;
class MemorySource;

/// Where memory lies, as a mdist_tensor_t says it.
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
    /// Of its memory.
    virtual Place place() const { return {}; }
    /// Itself, if it is one.
    virtual Gpu *gpu() { return nullptr; }

    /// At least one byte, 64-byte aligned, content undefined. Throws OUT_OF_MEMORY.
    virtual Memory allocate(std::size_t bytes) = 0;
    /// For memory that grows and never moves; nullptr: the host's.
    virtual std::shared_ptr<MemorySource> memory_source() { return nullptr; }

    // Done on return, and behind all that was given before. Ranges do not overlap.
    /// From memory of the host.
    virtual void copy_in(void *to, const void *from_host, std::size_t bytes) = 0;
    /// To memory of the host.
    virtual void copy_out(void *to_host, const void *from, std::size_t bytes) const = 0;

    // In order, but not necessarily done on return:
    virtual void zero(void *data, std::size_t bytes) = 0;
    /// Of memory that is given up. Any thread.
    virtual void zero_given_up(void *data, std::size_t bytes) { zero(data, bytes); }
    /// Within its memory. Ranges are the same or do not overlap.
    virtual void copy(void *to, const void *from, std::size_t bytes) = 0;
    /// As reduce::reduce().
    virtual void reduce(const reduce::Operation &operation, const void *const *sources, std::size_t source_count,
                        void *const *destinations, std::size_t destination_count, std::size_t elements) = 0;
    /// to[i] = from[i], += or -=, by mdist_assign_t.
    virtual void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) = 0;
    /// As reduce::divide().
    virtual void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) = 0;
    /// As reduce::scale().
    virtual void scale(int32_t dtype, void *to, double factor, std::size_t elements) = 0;

    /// Returns when all that was given is done; throws DEVICE with what went wrong there, TIMEOUT if that takes too
    /// long.
    virtual void finish() {}
};

std::shared_ptr<Device> make_cpu_device(int32_t index);

/// The CPU, for memory that belongs to no replica in particular.
const std::shared_ptr<Device> &host();

} // namespace mdist
