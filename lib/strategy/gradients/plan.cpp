// SPDX-License-Identifier: Apache-2.0
#include "strategy/gradients/plan.h"

#include "strategy/values/layout.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

// Far below the limit of a replica's unfinished operations (OperationQueue::kMost), which others also count against.
constexpr std::size_t kMostBuckets = 256;
// Elements per term of the norm. Long enough that the exchange of terms costs nothing next to reading them, and short
// enough that every replica gets some terms.
constexpr uint64_t kBlockElements = 65536;

// A lent gradient of this size is a buffer of its own, wherever it lies. Smaller ones are packed together unless they
// are adjacent: a copy that stays in the cache costs less than a buffer more in every part of a reduction.
constexpr std::size_t kAloneBytes = 16 << 10;

constexpr int32_t kTypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16};

} // namespace

GradientPlan::GradientPlan(std::vector<GradientSpec> specs, const GradientOptions &options)
    : specs_(std::move(specs)),
      options_(options),
      offsets_(specs_.size()),
      buckets_of_(specs_.size()),
      first_blocks_(specs_.size()) {
    cut_into_buckets();
    for (Bucket &bucket : buckets_) {
        lay_out(bucket);
        if (options_.lent) cut_into_runs(bucket);
        number_blocks(bucket);
    }
    hash_ = hash_of_all();
}

std::size_t GradientPlan::bytes_of(std::size_t index) const {
    return specs_[index].shape.elements() * dtype_size(specs_[index].dtype);
}

void GradientPlan::cut_into_buckets() {
    std::size_t total = 0;
    for (std::size_t i = 0; i < count(); ++i) total = saturated_sum(total, Layout::extent(bytes_of(i)));
    if (total > PTRDIFF_MAX) throw invalid("all gradients together have more bytes than memory can hold");
    // A full bucket has at least this many bytes, so there are at most kMostBuckets full buckets.
    const std::size_t enough = std::max(options_.bucket_bytes, total / kMostBuckets + 1);
    std::size_t begin = count();
    while (begin > 0) {
        const std::size_t end = begin;
        for (std::size_t bytes = 0; begin > 0 && bytes < enough;) bytes += Layout::extent(bytes_of(--begin));
        buckets_.push_back({begin, end, {}});
    }
}

void GradientPlan::lay_out(Bucket &bucket) {
    for (const int32_t dtype : kTypes) {
        const std::size_t first = bytes_;
        std::size_t last = bytes_; // end of the elements; a gap follows
        for (std::size_t i = bucket.end; i-- > bucket.begin;) {
            if (specs_[i].dtype != dtype) continue;
            offsets_[i] = bytes_;
            buckets_of_[i] = static_cast<std::size_t>(&bucket - buckets_.data());
            last = bytes_ + bytes_of(i);
            bytes_ += Layout::extent(bytes_of(i));
        }
        if (bytes_ != first && !options_.lent)
            bucket.buffers.push_back({buffer_count_++, first, (last - first) / dtype_size(dtype), dtype, {}});
    }
}

void GradientPlan::cut_into_runs(Bucket &bucket) {
    for (const int32_t dtype : kTypes) {
        bool open = false; // whether the last buffer takes more
        for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
            if (specs_[i].dtype != dtype) continue;
            const bool alone = bytes_of(i) >= kAloneBytes;
            if (!open || alone) bucket.buffers.push_back({buffer_count_++, 0, 0, dtype, {}});
            bucket.buffers.back().gradients.push_back(i);
            bucket.buffers.back().elements += specs_[i].shape.elements();
            open = !alone;
        }
    }
}

void GradientPlan::number_blocks(const Bucket &bucket) {
    for (std::size_t i = bucket.end; i-- > bucket.begin;) {
        first_blocks_[i] = block_count_;
        block_count_ += block_count(i);
    }
}

uint64_t GradientPlan::block_count(std::size_t index) const {
    const uint64_t elements = specs_[index].shape.elements();
    return elements / kBlockElements + (elements % kBlockElements != 0 ? 1 : 0);
}

GradientPlan::Block GradientPlan::block(std::size_t index, uint64_t at) const {
    const uint64_t begin = at * kBlockElements;
    return {first_blocks_[index] + at, begin, std::min(kBlockElements, specs_[index].shape.elements() - begin)};
}

GradientPlan::Stretch GradientPlan::place(std::size_t index) const {
    return {offsets_[index], specs_[index].shape.elements(), specs_[index].dtype};
}

uint64_t GradientPlan::hash_of_all() const {
    uint64_t hash = 0;
    const auto mix = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15; // an odd number with well mixed bits: 2^64 by the golden ratio
        hash ^= hash >> 32;
    };
    for (const GradientSpec &spec : specs_) {
        mix(static_cast<uint32_t>(spec.dtype));
        mix(static_cast<uint32_t>(spec.shape.rank));
        for (int32_t d = 0; d < spec.shape.rank; ++d) mix(spec.shape.dims[d]);
    }
    uint64_t clip;
    std::memcpy(&clip, &options_.clip_norm, sizeof clip);
    mix(clip);
    mix(static_cast<uint32_t>(options_.op));
    mix(options_.bucket_bytes);
    mix(options_.zero_missing | options_.zero_nonfinite << 1 | options_.norm << 2 | options_.lent << 3);
    return hash;
}

std::string GradientPlan::text(std::size_t index) const {
    const GradientSpec &spec = specs_[index];
    const std::string name = spec.name.empty() ? "" : mdist::text("\"", spec.name, "\" ");
    return mdist::text("gradient ", index, " (", name, dtype_name(spec.dtype), " ", spec.shape.text(), ")");
}

} // namespace mdist
