// SPDX-License-Identifier: Apache-2.0
// shard: keeps every n-th element.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

#include <mdist/input.h>

#include <utility>

namespace mdist {
namespace {

class Shard final : public Streamed<Shard, class ShardStream> {
  public:
    Shard(Source source, uint64_t shards, uint64_t index)
        : Streamed(source, source->spec()), shards_(shards), index_(index) {}

    Traits traits() const override {
        return {.text = text("shard(", shards_, ", ", index_, ")"), .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        if (!all) return all;
        return *all / shards_ + (*all % shards_ > index_ ? 1 : 0);
    }
    uint64_t shards() const { return shards_; }
    uint64_t index() const { return index_; }

  private:
    uint64_t shards_;
    uint64_t index_;
};

class ShardStream final : public Stage<Shard> {
  public:
    ShardStream(std::shared_ptr<const Shard> dataset, const Iteration &iteration)
        : Stage(std::move(dataset), iteration), skip_(dataset_->index()) {}

  private:
    bool produce(Element &out) override {
        if (skip_ != 0 && !upstream_->pass_over(skip_, out)) return false;
        skip_ = dataset_->shards() - 1;
        return upstream_->next(out);
    }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        if (skip_ != 0 && !upstream_->pass_over(skip_, out)) return Got::kEnd;
        skip_ = dataset_->shards() - 1;
        return upstream_->next_into(room, out);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        if (count == 0) return 0;
        const uint64_t shards = dataset_->shards();
        const uint64_t all = saturated_sum(saturated_product(count - 1, shards), skip_ + 1);
        const uint64_t passed = upstream_->replay(all, scratch);
        const uint64_t done = passed <= skip_ ? 0 : (passed - skip_ - 1) / shards + 1;
        skip_ = shards - 1;
        return done;
    }
    void rewind() override {
        upstream_->restart();
        skip_ = dataset_->index();
    }

    uint64_t skip_; // elements of other shards before the next of ours
};

/// Marks where each worker's own shard is to be put.
class ShardPlaceholder final : public Rewritable<ShardPlaceholder> {
  public:
    explicit ShardPlaceholder(const Source &source) : Rewritable(source, source->spec()) {}

    std::unique_ptr<Stream> open(const Iteration &) const override {
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "a shard with MDIST_ONE_PER_WORKER is only a placeholder for each worker's shard. Distribute its "
                      "dataset (mdist_distribute_dataset with policy MDIST_SHARD_MARKED) before you iterate over it")
            .reason("shard_placeholder");
    }
    Traits traits() const override {
        return {.text = "shard(one per worker)", .role = Traits::Role::kShardPlaceholder, .keeps_batch_size = true};
    }
};

} // namespace

std::shared_ptr<Dataset> make_shard(Source source, uint64_t shards, uint64_t index) {
    if (shards == MDIST_ONE_PER_WORKER) return std::make_shared<ShardPlaceholder>(source);
    if (shards == 0) throw invalid("there are 0 shards; use at least 1");
    if (index >= shards)
        throw invalid(text("index is ", index, "; with ", shards, " shards it must be 0 to ", shards - 1));
    return std::make_shared<Shard>(std::move(source), shards, index);
}

} // namespace mdist
