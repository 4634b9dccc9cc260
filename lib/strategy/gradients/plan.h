// SPDX-License-Identifier: Apache-2.0
// GradientPlan: where a model's gradients lie, which of them share a bucket, and how their norm is added up. Numbers
// only, no memory; the same on all workers, made once and read by any thread.
//
// Buckets take gradients by number, last first, and lie one behind another in that order. Within one, gradients of a
// type lie side by side, so that a bucket is one buffer for each type it has. Blocks, the terms of the norm, are pieces
// of one gradient each, in the same order; where the buckets end makes no difference to them.
#pragma once

#include "util/shape.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct GradientSpec {
    int32_t dtype = 0;
    Shape shape;
    std::string name; // of the variable it is for, or empty
};

struct GradientOptions {
    std::size_t bucket_bytes = 0;
    int32_t op = 0;
    double clip_norm = 0;
    bool zero_missing = false;
    bool zero_nonfinite = false;
    bool norm = true;
};

class GradientPlan {
  public:
    /// Elements that lie in a row.
    struct Stretch {
        std::size_t offset;
        uint64_t elements;
        int32_t dtype;
    };
    struct Bucket {
        std::size_t begin, end; // its gradients' numbers; the buckets before it have those from `end` on
        std::size_t first_block, last_block;
        std::vector<Stretch> buffers;
    };

    GradientPlan(std::vector<GradientSpec> specs, const GradientOptions &options);

    std::size_t count() const { return specs_.size(); }
    const GradientSpec &spec(std::size_t index) const { return specs_[index]; }
    const GradientOptions &options() const { return options_; }
    /// Of all, with the gaps between them.
    std::size_t bytes() const { return bytes_; }
    Stretch place(std::size_t index) const;
    std::size_t bucket_of(std::size_t index) const { return buckets_of_[index]; }
    const std::vector<Bucket> &buckets() const { return buckets_; }
    const std::vector<Stretch> &blocks() const { return blocks_; }
    /// Equal on workers whose plans are.
    uint64_t hash() const { return hash_; }
    /// "gradient 3 ("dense/kernel" float32 [5, 7])"
    std::string text(std::size_t index) const;

  private:
    void cut_into_buckets();
    void lay_out(Bucket &bucket);
    void cut_into_blocks(Bucket &bucket);
    uint64_t hash_of_all() const;
    std::size_t bytes_of(std::size_t index) const;

    std::vector<GradientSpec> specs_;
    GradientOptions options_;
    std::size_t bytes_ = 0;
    std::vector<std::size_t> offsets_;
    std::vector<std::size_t> buckets_of_;
    std::vector<Bucket> buckets_;
    std::vector<Stretch> blocks_;
    uint64_t hash_ = 0;
};

} // namespace mdist
