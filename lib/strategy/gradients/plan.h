// SPDX-License-Identifier: Apache-2.0
// GradientPlan: where a model's gradients lie in memory, which bucket each belongs to, and how their norm is added up.
// It holds a few numbers for each gradient, whatever its size, and no memory. All workers make the same plan, once; any
// thread may read it.
//
// Buckets take gradients by number, last first, and lie in memory in that order. Inside a bucket, gradients of one type
// are adjacent, so a bucket is one buffer for each type it contains. A block is a piece of one gradient and one term of
// the norm. Blocks come in the same order and do not depend on where buckets end, or on whose memory it is.
//
// If the program lends the memory, gradients lie where it wants, and on each replica elsewhere. All replicas must still
// name the same buffers. So the plan alone decides what is a buffer: a large gradient, or a run of small ones in the
// order of their numbers. Each replica finds out for itself whether its run is in one piece or has to be packed.
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
    std::string name; // of the gradient's variable, or empty
};

struct GradientOptions {
    std::size_t bucket_bytes = 0;
    int32_t op = 0;
    double clip_norm = 0;
    bool zero_missing = false;
    bool zero_nonfinite = false;
    bool norm = true;
    bool lent = false; // the program owns the memory
};

class GradientPlan {
  public:
    /// Where a gradient lies in memory that has room for all.
    struct Stretch {
        std::size_t offset;
        uint64_t elements;
        int32_t dtype;
    };
    /// One buffer of a bucket's reduction.
    struct Buffer {
        std::size_t number; // among all buffers of the plan
        std::size_t offset; // in memory of the library
        uint64_t elements;
        int32_t dtype;
        std::vector<std::size_t> gradients; // in the order in which they lie there; given only for lent memory
    };
    struct Bucket {
        std::size_t begin, end; // numbers of its gradients; earlier buckets have those from `end` on
        std::vector<Buffer> buffers;
    };
    /// A piece of one gradient.
    struct Block {
        uint64_t number; // among all blocks of the plan
        uint64_t begin;  // its first element
        uint64_t elements;
    };

    GradientPlan(std::vector<GradientSpec> specs, const GradientOptions &options);

    std::size_t count() const { return specs_.size(); }
    const GradientSpec &spec(std::size_t index) const { return specs_[index]; }
    const GradientOptions &options() const { return options_; }
    /// The size of all gradients, with the gaps between them.
    std::size_t bytes() const { return bytes_; }
    Stretch place(std::size_t index) const;
    std::size_t bytes_of(std::size_t index) const;
    std::size_t bucket_of(std::size_t index) const { return buckets_of_[index]; }
    const std::vector<Bucket> &buckets() const { return buckets_; }
    std::size_t buffer_count() const { return buffer_count_; }
    /// The number of blocks of one gradient, and of all. Shapes decide them: there may be more than memory could list.
    uint64_t block_count(std::size_t index) const;
    uint64_t block_count() const { return block_count_; }
    /// Block `at` of those of gradient `index`.
    Block block(std::size_t index, uint64_t at) const;
    /// Equal on workers whose plans are equal.
    uint64_t hash() const { return hash_; }
    /// "gradient 3 ("dense/kernel" float32 [5, 7])"
    std::string text(std::size_t index) const;

  private:
    void cut_into_buckets();
    void lay_out(Bucket &bucket);
    void cut_into_runs(Bucket &bucket);
    void number_blocks(const Bucket &bucket);
    uint64_t hash_of_all() const;

    std::vector<GradientSpec> specs_;
    GradientOptions options_;
    std::size_t bytes_ = 0;
    std::vector<std::size_t> offsets_;
    std::vector<std::size_t> buckets_of_;
    std::vector<Bucket> buckets_;
    std::size_t buffer_count_ = 0;
    std::vector<uint64_t> first_blocks_; // by gradient
    uint64_t block_count_ = 0;
    uint64_t hash_ = 0;
};

} // namespace mdist
