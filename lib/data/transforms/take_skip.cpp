// SPDX-License-Identifier: Apache-2.0
// take and skip: only the first elements, or all but the first.
#include "data/transforms.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

class Take final : public Streamed<Take, class TakeStream> {
  public:
    Take(Source source, uint64_t count) : Streamed(source, source->spec()), count_(count) {}

    Traits traits() const override { return {.text = text("take(", count_, ")"), .keeps_batch_size = true}; }
    bool endless() const override { return false; }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        return all ? std::optional(std::min(*all, count_)) : std::nullopt;
    }
    uint64_t count() const { return count_; }

  private:
    uint64_t count_;
};

class TakeStream final : public Stage<Take> {
  public:
    TakeStream(std::shared_ptr<const Take> dataset, const Iteration &iteration)
        : Stage(std::move(dataset), iteration), count_(dataset_->count()) {}

  private:
    bool produce(Element &out) override { return taken_ < count_ && (++taken_, upstream_->next(out)); }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        return taken_ < count_ ? (++taken_, upstream_->next_into(room, out)) : Got::kEnd;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        const uint64_t done = upstream_->replay(std::min(count, count_ - taken_), scratch);
        taken_ += done;
        return done;
    }
    void rewind() override {
        upstream_->restart();
        taken_ = 0;
    }

    uint64_t count_;
    uint64_t taken_ = 0;
};

class Skip final : public Streamed<Skip, class SkipStream> {
  public:
    Skip(Source source, uint64_t count) : Streamed(source, source->spec()), count_(count) {}

    Traits traits() const override { return {.text = text("skip(", count_, ")"), .keeps_batch_size = true}; }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        return all ? std::optional(*all - std::min(*all, count_)) : std::nullopt;
    }
    uint64_t count() const { return count_; }

  private:
    uint64_t count_;
};

class SkipStream final : public Stage<Skip> {
  public:
    SkipStream(std::shared_ptr<const Skip> dataset, const Iteration &iteration)
        : Stage(std::move(dataset), iteration), count_(dataset_->count()) {}

  private:
    bool produce(Element &out) override { return begin(out) && upstream_->next(out); }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        return begin(out) ? upstream_->next_into(room, out) : Got::kEnd;
    }
    bool begin(Element &passed) {
        return std::exchange(begun_, true) || count_ == 0 || upstream_->pass_over(count_, passed);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        const uint64_t first = std::exchange(begun_, true) ? 0 : count_;
        return std::max(upstream_->replay(saturated_sum(first, count), scratch), first) - first;
    }
    void rewind() override {
        upstream_->restart();
        begun_ = false;
    }

    uint64_t count_;
    bool begun_ = false;
};

} // namespace

std::shared_ptr<Dataset> make_take(Source source, uint64_t count) {
    return std::make_shared<Take>(std::move(source), count);
}

std::shared_ptr<Dataset> make_skip(Source source, uint64_t count) {
    return std::make_shared<Skip>(std::move(source), count);
}

} // namespace mdist
