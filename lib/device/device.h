// SPDX-License-Identifier: Apache-2.0
// Device: where a replica's memory lies and how bytes get in and out of it.
//
// The one interface between the library and CPU, CUDA or a fake of it in tests. Memory may outlive the device that gave
// it out. All functions may be called from any thread.
#pragma once

#include <mdist/tensor.h>

#include <cstddef>
#include <memory>
#include <string>

namespace mdist {

/// Memory of a device, given back with the last reference.
using Memory = std::shared_ptr<void>;

class Device {
  public:
    virtual ~Device() = default;

    virtual mdist_device_kind_t kind() const = 0;
    virtual int32_t index() const = 0;
    /// "cpu:1"
    virtual std::string name() const = 0;

    /// At least one byte, 64-byte aligned, content undefined. Throws OUT_OF_MEMORY.
    virtual Memory allocate(std::size_t bytes) = 0;
    virtual void zero(void *data, std::size_t bytes) = 0;
    /// Copies from host memory, to host memory, and within the device. Ranges do not overlap.
    virtual void copy_in(void *to, const void *from_host, std::size_t bytes) = 0;
    virtual void copy_out(void *to_host, const void *from, std::size_t bytes) const = 0;
};

std::shared_ptr<Device> make_cpu_device(int32_t index);

/// The CPU, for memory that belongs to no replica in particular.
const std::shared_ptr<Device> &host();

} // namespace mdist
