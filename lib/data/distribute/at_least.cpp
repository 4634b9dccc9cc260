// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/at_least.h"

#include "util/text.h"

#include <deque>
#include <utility>

namespace mdist {
namespace {

class AtLeast final : public Streamed<AtLeast, class AtLeastStream> {
  public:
    AtLeast(std::shared_ptr<const Dataset> source, uint64_t least, bool or_none,
            std::function<Failure(uint64_t)> too_few)
        : Streamed(source, source->spec()), least_(least), or_none_(or_none), too_few_(std::move(too_few)) {}

    Traits traits() const override {
        return {.text = text("at_least(", least_, ")"), .identity = "", .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
    uint64_t least() const { return least_; }
    void check(uint64_t there) const {
        if (there < least_ && !(or_none_ && there == 0)) throw too_few_(there);
    }

  private:
    uint64_t least_;
    bool or_none_;
    std::function<Failure(uint64_t)> too_few_;
};

class AtLeastStream final : public Stage<AtLeast> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override { return take_first(out) || upstream_->next(out); }
    bool fills_rooms() const override { return upstream_->fills_rooms(); }
    Got produce_into(Room &room, Element &out) override {
        return take_first(out) ? Got::kElement : upstream_->next_into(room, out);
    }
    bool take_first(Element &out) {
        if (!counted_) count_first();
        if (first_.empty()) return false;
        out = std::move(first_.front());
        first_.pop_front();
        return true;
    }
    void count_first() {
        Element element;
        while (first_.size() < dataset_->least() && upstream_->next(element))
            first_.push_back(std::exchange(element, Element()));
        dataset_->check(first_.size());
        counted_ = true;
    }
    bool leave_out(uint64_t count, Element &scratch) override {
        for (; count != 0 && take_first(scratch); --count) continue;
        return count == 0 || upstream_->pass_over(count, scratch);
    }
    /// Whoever has saved a position has counted.
    uint64_t leap(uint64_t count, Element &scratch) override {
        counted_ = counted_ || count != 0;
        uint64_t done = 0;
        for (; done < count && !first_.empty(); ++done) first_.pop_front();
        return done + upstream_->replay(count - done, scratch);
    }
    void rewind() override {
        upstream_->restart();
        first_.clear();
    }

    std::deque<Element> first_; // taken to be counted, and not yet given
    bool counted_ = false;
};

} // namespace

std::shared_ptr<const Dataset> make_at_least(std::shared_ptr<const Dataset> source, uint64_t least, bool or_none,
                                             std::function<Failure(uint64_t there)> too_few) {
    return std::make_shared<AtLeast>(std::move(source), least, or_none, std::move(too_few));
}

std::shared_ptr<const Dataset> with_enough(const std::shared_ptr<const Dataset> &source, uint64_t least,
                                           const std::function<Failure(uint64_t there)> &too_few) {
    const std::optional<uint64_t> there = source->size();
    if (there && *there != 0 && *there < least) throw too_few(*there);
    if (there || source->endless() || least == 1) return source;
    return make_at_least(source, least, true, too_few);
}

} // namespace mdist
