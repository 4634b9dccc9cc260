// SPDX-License-Identifier: Apache-2.0
// take and skip: only the first elements, or all but the first.
#include "data/transforms.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// The elements behind the first `skipped`: `most` of them, if it has a value.
class Window final : public Streamed<Window, class WindowStream> {
  public:
    Window(Source source, uint64_t skipped, std::optional<uint64_t> most)
        : Streamed(source, source->spec()), skipped_(skipped), most_(most) {}

    Traits traits() const override {
        return {.text = most_ ? text("take(", *most_, ")") : text("skip(", skipped_, ")"), .keeps_batch_size = true};
    }
    bool endless() const override { return !most_ && source().endless(); }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        return all ? std::optional(std::min(*all - std::min(*all, skipped_), most())) : std::nullopt;
    }
    uint64_t skipped() const { return skipped_; }
    uint64_t most() const { return most_.value_or(UINT64_MAX); }

  private:
    uint64_t skipped_;
    std::optional<uint64_t> most_;
};

class WindowStream final : public Stage<Window> {
  public:
    WindowStream(std::shared_ptr<const Window> dataset, const Iteration &iteration)
        : Stage(std::move(dataset), iteration), skip_(dataset_->skipped()), left_(dataset_->most()) {}

  private:
    bool produce(Element &out) override { return reach(out) && upstream_->next(out); }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        return reach(out) ? upstream_->next_into(room, out) : Got::kEnd;
    }
    bool reach(Element &passed) {
        if (left_ == 0 || (skip_ != 0 && !upstream_->pass_over(std::exchange(skip_, 0), passed))) return false;
        --left_;
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        const uint64_t skipped = std::exchange(skip_, 0);
        const uint64_t passed = upstream_->replay(saturated_sum(skipped, std::min(count, left_)), scratch);
        const uint64_t done = std::max(passed, skipped) - skipped;
        left_ -= done;
        return done;
    }
    void rewind() override {
        upstream_->restart();
        skip_ = dataset_->skipped();
        left_ = dataset_->most();
    }

    uint64_t skip_; // elements before the next one
    uint64_t left_; // elements to give
};

} // namespace

std::shared_ptr<Dataset> make_take(Source source, uint64_t count) {
    return std::make_shared<Window>(std::move(source), 0, count);
}

std::shared_ptr<Dataset> make_skip(Source source, uint64_t count) {
    return std::make_shared<Window>(std::move(source), count, std::nullopt);
}

} // namespace mdist
