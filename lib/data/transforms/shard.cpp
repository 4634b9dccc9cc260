// SPDX-License-Identifier: Apache-2.0
// Every n-th element.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class Shard final : public Transform {
  public:
    Shard(Source source, uint64_t shards, uint64_t index)
        : Transform(source, source->spec()), shards_(shards), index_(index) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
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

class ShardStream final : public Stream {
  public:
    ShardStream(std::shared_ptr<const Shard> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(dataset_->source().open(iteration)),
          skip_(dataset_->index()) {}

  private:
    bool produce(Element &out) override {
        if (skip_ != 0 && !upstream_->pass_over(skip_, out)) return false;
        skip_ = dataset_->shards() - 1;
        return upstream_->next(out);
    }
    void rewind() override {
        upstream_->restart();
        skip_ = dataset_->index();
    }

    std::shared_ptr<const Shard> dataset_;
    std::unique_ptr<Stream> upstream_;
    uint64_t skip_; // elements of other shards before the next of ours
};

std::unique_ptr<Stream> Shard::open(const Iteration &iteration) const {
    return std::make_unique<ShardStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_shard(Source source, uint64_t shards, uint64_t index) {
    if (shards == 0) throw invalid(text("shard ", index, " of 0 shards; there must be at least 1"));
    if (index >= shards)
        throw invalid(text("shard ", index, " of ", shards, " shards; the index goes from 0 to ", shards - 1));
    return std::make_shared<Shard>(std::move(source), shards, index);
}

} // namespace mdist
