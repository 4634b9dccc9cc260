// SPDX-License-Identifier: Apache-2.0
// The CPU as a device. `cpu:i` are logical: all share the host's memory.
#include "device/device.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace mdist {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Cpu final : public Device {
  public:
    explicit Cpu(int32_t index) : index_(index) {}

    mdist_device_kind_t kind() const override { return MDIST_DEVICE_CPU; }
    int32_t index() const override { return index_; }
    std::string name() const override { return text("cpu:", index_); }

    Memory allocate(std::size_t bytes) override {
        // Fresh 4 KiB pages cost more than reducing what is in them; huge pages make the first touch 6 times cheaper.
        const bool huge = bytes >= 2 * kHugePage;
        const std::size_t alignment = huge ? kHugePage : kCacheLine;
        void *data = bytes > SIZE_MAX - alignment
                         ? nullptr
                         : std::aligned_alloc(
                               alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
        if (data == nullptr) throw Failure(MDIST_ERR_OUT_OF_MEMORY, text("no memory for ", bytes, " bytes"));
        if (huge) madvise(data, bytes, MADV_HUGEPAGE); // a wish; refused on kernels built without
        return Memory(data, std::free);
    }

    void zero(void *data, std::size_t bytes) override {
        if (bytes != 0) std::memset(data, 0, bytes);
    }
    void copy_in(void *to, const void *from_host, std::size_t bytes) override {
        if (bytes != 0) std::memcpy(to, from_host, bytes);
    }
    void copy_out(void *to_host, const void *from, std::size_t bytes) const override {
        if (bytes != 0) std::memcpy(to_host, from, bytes);
    }

  private:
    int32_t index_;
};

} // namespace

std::shared_ptr<Device> make_cpu_device(int32_t index) {
    return std::make_shared<Cpu>(index);
}

const std::shared_ptr<Device> &host() {
    // Never destroyed: threads of a program that ends without destroying its iterators still use it.
    static const auto &cpu = *new std::shared_ptr<Device>(make_cpu_device(0));
    return cpu;
}

} // namespace mdist
