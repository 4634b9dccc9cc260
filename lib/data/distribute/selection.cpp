// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/selection.h"

#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

class Selection final : public Streamed<Selection, class SelectionStream> {
  public:
    Selection(std::shared_ptr<const Dataset> source, uint64_t of, std::vector<uint64_t> own)
        : Streamed(source, source->spec()), of_(of), own_(std::move(own)) {}

    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        if (!all) return all;
        const auto more = std::count_if(own_.begin(), own_.end(), [&](uint64_t number) { return number < *all % of_; });
        return *all / of_ * own_.size() + static_cast<uint64_t>(more);
    }
    Traits traits() const override {
        return {.text = text("turns(", listed(own_), " of ", of_, ")"), .keeps_batch_size = true};
    }
    uint64_t of() const { return of_; }
    const std::vector<uint64_t> &own() const { return own_; }

  private:
    uint64_t of_;
    std::vector<uint64_t> own_;
};

class SelectionStream final : public Stage<Selection> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override {
        const std::vector<uint64_t> &own = dataset_->own();
        const uint64_t others = own[at_] + (next_ > own[at_] ? dataset_->of() : 0) - next_;
        if (others != 0 && !upstream_->pass_over(others, out)) return false;
        next_ = own[at_] + 1;
        at_ = (at_ + 1) % own.size();
        return upstream_->next(out);
    }
    void rewind() override {
        upstream_->restart();
        at_ = 0;
        next_ = 0;
    }

    std::size_t at_ = 0; // in own()
    uint64_t next_ = 0;  // number of the next element from upstream within its row; of() means 0 of the next row
};

} // namespace

std::shared_ptr<Dataset> make_selection(std::shared_ptr<const Dataset> source, uint64_t of, std::vector<uint64_t> own) {
    return std::make_shared<Selection>(std::move(source), of, std::move(own));
}

} // namespace mdist
