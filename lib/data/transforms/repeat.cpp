// SPDX-License-Identifier: Apache-2.0
// The source several times over.
#include "data/transforms.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class Repeat final : public Transform {
  public:
    Repeat(Source source, uint64_t count) : Transform(source, source->spec()), count_(count) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Repeat>(sources[0], count_);
    }
    Traits traits() const override {
        return {.text = count_ == MDIST_FOREVER ? "repeat" : text("repeat(", count_, ")"), .keeps_batch_size = true};
    }
    bool endless() const override {
        return count_ != 0 && (source().endless() || (count_ == MDIST_FOREVER && source().size().value_or(0) != 0));
    }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> once = source().size();
        if (count_ == 0 || once == 0u) return 0;
        uint64_t all = 0;
        if (!once || count_ == MDIST_FOREVER || __builtin_mul_overflow(*once, count_, &all)) return std::nullopt;
        return all;
    }
    uint64_t count() const { return count_; }

  private:
    uint64_t count_;
};

class RepeatStream final : public Stream {
  public:
    RepeatStream(std::shared_ptr<const Repeat> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(dataset_->source().open(iteration)),
          left_(dataset_->count()) {}

  private:
    bool produce(Element &out) override {
        while (left_ != 0) {
            if (upstream_->next(out)) return empty_ = false, true;
            // A round without elements would be followed by more of them, without end if forever.
            if (empty_) return false;
            if (left_ != MDIST_FOREVER && --left_ == 0) return false;
            upstream_->restart();
            empty_ = true;
        }
        return false;
    }
    void rewind() override {
        upstream_->restart();
        left_ = dataset_->count();
        empty_ = true;
    }

    std::shared_ptr<const Repeat> dataset_;
    std::unique_ptr<Stream> upstream_;
    uint64_t left_;     // rounds, with the one under way
    bool empty_ = true; // no element in this round yet
};

std::unique_ptr<Stream> Repeat::open(const Iteration &iteration) const {
    return std::make_unique<RepeatStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_repeat(Source source, uint64_t count) {
    return std::make_shared<Repeat>(std::move(source), count);
}

} // namespace mdist
