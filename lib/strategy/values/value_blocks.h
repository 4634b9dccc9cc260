// SPDX-License-Identifier: Apache-2.0
// ValueBlocks: memory for many values that are made together, and for their tensors.
//
// A thousand values would take two allocations each, which cost more than all else about them. They therefore lie in
// blocks. A block is freed with the last of its values. One thread makes values; any thread may drop them.
#pragma once

#include "strategy/values/value.h"
#include "util/round_up.h"
#include "util/sanitized.h"

#include <atomic>
#include <cstddef>

namespace mdist {

class ValueBlocks {
  public:
    ValueBlocks() = default;
    ~ValueBlocks() { close(); }
    ValueBlocks(const ValueBlocks &) = delete;
    ValueBlocks &operator=(const ValueBlocks &) = delete;

    /// Makes a value of `count` tensors: make(i) returns tensor i. Throws bad_alloc, or what `make` throws.
    template <class Make>
    ValuePointer make(mdist_value_kind_t kind, std::size_t count, Make &&make_tensor) {
        const std::size_t array = round_up(count * sizeof(Tensor), kLine);
        Block *const block = block_with(array + round_up(kMostOfValue, kLine));
        Tensors tensors(static_cast<Tensor *>(block->take(array)));
        while (tensors.count < count) tensors.add(make_tensor(tensors.count));
        ValuePointer value = std::allocate_shared<Value>(Allocator<Value>(block), kind, tensors.first, count);
        tensors.count = 0; // the value has them
        return value;
    }

  private:
    static constexpr std::size_t kLine = 64;
    static constexpr std::size_t kMostOfValue = sizeof(Value) + 64; // with its reference count
    /// Sanitizers see a use after the end of a value only if it has a block of its own.
    static constexpr std::size_t kBlockBytes = MDIST_SANITIZED ? 0 : 65536;

    struct alignas(kLine) Block {
        /// More than values in the block. Each value that is gone takes one off. When the block gets no more values,
        /// those that it never had are taken off. At 0 it is freed.
        static constexpr std::size_t kMany = std::size_t{1} << 40;
        std::atomic<std::size_t> left{kMany};
        std::size_t values = 0; // made in it
        char *next = nullptr;
        char *end = nullptr;

        void *take(std::size_t bytes) {
            void *const taken = next;
            next += bytes;
            return taken;
        }
        void drop(std::size_t count) noexcept;
    };

    /// The tensors of a value that is not made yet.
    struct Tensors {
        explicit Tensors(Tensor *at) : first(at) {}
        ~Tensors() { std::destroy_n(first, count); }
        Tensors(const Tensors &) = delete;
        Tensors &operator=(const Tensors &) = delete;
        void add(Tensor &&tensor) {
            new (first + count) Tensor(std::move(tensor));
            ++count;
        }
        Tensor *const first;
        std::size_t count = 0;
    };

    template <class T>
    struct Allocator {
        using value_type = T;
        explicit Allocator(Block *from) noexcept : block(from) {}
        template <class Other>
        Allocator(const Allocator<Other> &other) noexcept : block(other.block) {}
        T *allocate(std::size_t) {
            static_assert(sizeof(T) <= kMostOfValue && alignof(T) <= kLine);
            ++block->values;
            return static_cast<T *>(block->take(round_up(sizeof(T), kLine)));
        }
        void deallocate(T *, std::size_t) noexcept { block->drop(1); }
        template <class Other>
        bool operator==(const Allocator<Other> &other) const {
            return block == other.block;
        }
        Block *block;
    };

    Block *block_with(std::size_t bytes);
    void close() noexcept;

    Block *block_ = nullptr; // the one that gets values now
};

} // namespace mdist
