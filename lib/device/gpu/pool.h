// SPDX-License-Identifier: Apache-2.0
// GpuPool: memory of one GPU, and blocks of it that were given back, for who asks for about as much next: cudaMalloc
// and cudaFree wait for the whole GPU. A block is given to another stream only when what its last stream had to do with
// it has happened.
//
// Any thread.
#pragma once

#include "device/gpu/replica_stream.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mdist {

class GpuPool {
  public:
    explicit GpuPool(PhysicalGpu &gpu);

    /// For the work of that stream; nullptr: what is done with it is waited for before it is given back.
    Memory allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream);

  private:
    struct Block {
        void *data = nullptr;
        Event mark; // of its last use
        std::weak_ptr<ReplicaStream> last;
        bool doubtful; // given back without a mark while somebody has given up waiting for a stream
    };
    using Blocks = std::multimap<std::size_t, Block>; // by size

    void *take(std::size_t bytes, const std::shared_ptr<ReplicaStream> &stream, std::size_t &taken_bytes);
    void *make(std::size_t bytes);
    void keep(void *data, std::size_t bytes, const std::shared_ptr<ReplicaStream> &stream) noexcept;
    bool keep_with_graph(void *data, std::size_t bytes, const std::shared_ptr<ReplicaStream> &stream) noexcept;
    static bool is_free(const Block &block) noexcept;
    bool shrink(std::size_t most) noexcept;
    bool await_any() noexcept;

    PhysicalGpu &gpu_;
    const std::size_t most_; // bytes that are kept, but for those whose last use has not happened
    std::mutex mutex_;
    Blocks kept_;
    std::size_t kept_bytes_ = 0;
};

} // namespace mdist
