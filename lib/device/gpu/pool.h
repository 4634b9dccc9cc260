// SPDX-License-Identifier: Apache-2.0
// GpuPool: memory of one GPU. It keeps blocks that were given back for the next caller that asks for about as much,
// because cudaMalloc and cudaFree wait for the whole GPU. A block goes to another stream only when its last stream's
// work with it is done. Any thread.
#pragma once

#include "device/gpu/replica_stream.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace mdist {

class GpuPool {
  public:
    explicit GpuPool(GpuCard &card);

    /// Allocates memory for the work of that stream. nullptr: the caller waits for all work with it before giving it
    /// back.
    Memory allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream);

  private:
    struct Block {
        void *data = nullptr;
        Event mark; // after its last use
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
    void give_to_cuda(void *data) noexcept;

    GpuCard &card_;
    const std::size_t most_; // the most bytes to keep, not counting blocks whose last use is not over
    std::mutex mutex_;
    Blocks kept_;
    std::size_t kept_bytes_ = 0;
};

} // namespace mdist
