// SPDX-License-Identifier: Apache-2.0
// shard: keeps every n-th element, or several of each n in a row.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

#include <mdist/input.h>

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// Of each `of` elements in a row those numbered `own`, in ascending order.
class Selection final : public Streamed<Selection, class SelectionStream> {
  public:
    Selection(Source source, uint64_t of, std::vector<uint64_t> own, std::string called)
        : Streamed(source, source->spec()), of_(of), own_(std::move(own)), called_(std::move(called)) {}

    Traits traits() const override { return {.text = called_, .keeps_batch_size = true}; }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        return all ? std::optional(among(*all)) : std::nullopt;
    }
    std::size_t numbers() const { return own_.size(); }
    /// Returns how many of the source's first elements are kept.
    uint64_t among(uint64_t elements) const {
        const auto more = std::count_if(own_.begin(), own_.end(), [&](uint64_t i) { return i < elements % of_; });
        return elements / of_ * own_.size() + static_cast<uint64_t>(more);
    }
    /// Returns the place of kept element `i` in the source.
    uint64_t place(uint64_t i) const {
        return saturated_sum(saturated_product(i / own_.size(), of_), own_[i % own_.size()]);
    }
    /// Returns how many elements are left out between the kept one before `own[at]` and that one.
    uint64_t gap_before(std::size_t at) const {
        return at == 0 ? of_ - own_.back() + own_[0] - 1 : own_[at] - own_[at - 1] - 1;
    }

  private:
    uint64_t of_;
    std::vector<uint64_t> own_;
    std::string called_;
};

class SelectionStream final : public Stage<Selection> {
  public:
    SelectionStream(std::shared_ptr<const Selection> dataset, const Iteration &iteration)
        : Stage(std::move(dataset), iteration), skip_(dataset_->place(0)) {}

  private:
    bool produce(Element &out) override { return reach(out) && upstream_->next(out); }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        return reach(out) ? upstream_->next_into(room, out) : Got::kEnd;
    }
    bool reach(Element &passed) {
        if (skip_ != 0 && !upstream_->pass_over(skip_, passed)) return false;
        advance(1);
        return true;
    }
    void advance(uint64_t count) {
        at_ = (at_ + count) % dataset_->numbers();
        skip_ = dataset_->gap_before(at_);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        if (count == 0) return 0;
        const uint64_t next = dataset_->place(at_);
        const uint64_t last = dataset_->place(saturated_sum(at_, count - 1));
        const uint64_t passed = upstream_->replay(saturated_sum(last - next, skip_ + 1), scratch);
        const uint64_t done = passed <= skip_ ? 0 : dataset_->among(next + passed - skip_) - at_;
        advance(done);
        return done;
    }
    void rewind() override {
        upstream_->restart();
        at_ = 0;
        skip_ = dataset_->place(0);
    }

    std::size_t at_ = 0; // which of the numbers is next
    uint64_t skip_;      // elements of others before that one
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
    return std::make_shared<Selection>(std::move(source), shards, std::vector{index},
                                       text("shard(", shards, ", ", index, ")"));
}

std::shared_ptr<Dataset> make_selection(Source source, uint64_t of, std::vector<uint64_t> own) {
    std::string called = text("turns(", listed(own), " of ", of, ")");
    return std::make_shared<Selection>(std::move(source), of, std::move(own), std::move(called));
}

} // namespace mdist
