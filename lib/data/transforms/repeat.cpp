// SPDX-License-Identifier: Apache-2.0
// repeat: runs through the source several times.
#include "data/transforms.h"
#include "util/sizes.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class Repeat final : public Streamed<Repeat, class RepeatStream> {
  public:
    Repeat(Source source, uint64_t count) : Streamed(source, source->spec()), count_(count) {}

    Traits traits() const override {
        return {.text = count_ == MDIST_FOREVER ? "repeat" : text("repeat(", count_, ")"), .keeps_batch_size = true};
    }
    bool endless() const override {
        return count_ != 0 && (source().endless() || (count_ == MDIST_FOREVER && source().size().value_or(0) != 0));
    }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> once = source().size();
        if (count_ == 0 || once == 0u) return 0;
        return once && count_ != MDIST_FOREVER ? fitting_product(*once, count_) : std::nullopt;
    }
    uint64_t count() const { return count_; }

  private:
    uint64_t count_;
};

class RepeatStream final : public Stage<Repeat> {
  public:
    RepeatStream(std::shared_ptr<const Repeat> dataset, const Iteration &iteration)
        : Stage(std::move(dataset), iteration), left_(dataset_->count()) {}

  private:
    bool produce(Element &out) override {
        for (; left_ != 0; end_round())
            if (upstream_->next(out)) return empty_ = false, true;
        return false;
    }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        for (; left_ != 0; end_round())
            if (const Got got = upstream_->next_into(room, out); got != Got::kEnd) return empty_ = false, got;
        return Got::kEnd;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        uint64_t done = 0;
        while (left_ != 0) {
            const uint64_t here = upstream_->replay(count - done, scratch);
            if (here != 0) empty_ = false;
            if ((done += here) == count || empty_) break;
            if (left_ != MDIST_FOREVER && --left_ == 0) break;
            upstream_->restart();
            empty_ = true;
        }
        return done;
    }
    void end_round() {
        // After a round without elements, all further rounds would be empty, too. An endless repeat would never return.
        if (empty_) left_ = 0;
        if (left_ == 0 || (left_ != MDIST_FOREVER && --left_ == 0)) return;
        upstream_->restart();
        empty_ = true;
    }
    void rewind() override {
        upstream_->restart();
        left_ = dataset_->count();
        empty_ = true;
    }

    uint64_t left_;     // rounds left, including the one under way
    bool empty_ = true; // no element in this round yet
};

} // namespace

std::shared_ptr<Dataset> make_repeat(Source source, uint64_t count) {
    return std::make_shared<Repeat>(std::move(source), count);
}

} // namespace mdist
