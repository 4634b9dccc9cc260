// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/value_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace mdist {

void ValueBlocks::Block::drop(std::size_t count) noexcept {
    if (left.fetch_sub(count, std::memory_order_acq_rel) == count) std::free(this);
}

/// The block that gets values now, with so many bytes of room.
ValueBlocks::Block *ValueBlocks::block_with(std::size_t bytes) {
    if (block_ != nullptr && static_cast<std::size_t>(block_->end - block_->next) >= bytes) return block_;
    close();
    const std::size_t size = std::max(sizeof(Block) + bytes, kBlockBytes);
    void *const memory = std::aligned_alloc(kLine, round_up(size, kLine));
    if (memory == nullptr) throw std::bad_alloc();
    block_ = new (memory) Block;
    block_->next = static_cast<char *>(memory) + sizeof(Block);
    block_->end = static_cast<char *>(memory) + round_up(size, kLine);
    return block_;
}

/// The block gets no more values.
void ValueBlocks::close() noexcept {
    if (block_ != nullptr) block_->drop(Block::kMany - block_->values);
    block_ = nullptr;
}

} // namespace mdist
