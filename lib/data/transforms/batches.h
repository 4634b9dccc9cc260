// SPDX-License-Identifier: Apache-2.0
// Batches: a dataset whose elements join consecutive ones of its source, the same number in each.
#pragma once

#include "data/transforms.h"
#include "util/sizes.h"

#include <utility>

namespace mdist {

class Batches : public Transform {
  public:
    Batches(const Source &source, std::vector<Spec> spec, uint64_t batch_size, bool drop_remainder)
        : Transform(source, std::move(spec)), batch_size_(batch_size), drop_remainder_(drop_remainder) {}

    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        return all ? std::optional(batches_of(*all)) : std::nullopt;
    }
    uint64_t batch_size() const { return batch_size_; }
    bool drop_remainder() const { return drop_remainder_; }
    /// Implements Stream::replay for its streams. `upstream` stands at its beginning or right behind a batch.
    uint64_t replay(Stream &upstream, uint64_t count, Element &scratch) const {
        return batches_of(upstream.replay(saturated_product(count, batch_size_), scratch));
    }

  private:
    uint64_t batches_of(uint64_t elements) const {
        return elements / batch_size_ + (elements % batch_size_ != 0 && !drop_remainder_ ? 1 : 0);
    }

    const uint64_t batch_size_;
    const bool drop_remainder_;
};

} // namespace mdist
