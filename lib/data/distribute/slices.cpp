// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/slices.h"

#include "data/dataset.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> sliced(std::vector<Spec> spec, const Slicing &slicing) {
    const auto &own = slicing.own;
    for (Spec &component : spec) {
        uint64_t &rows = component.shape.dims[0];
        if (rows == Spec::kUnknown) continue;
        const std::vector<uint64_t> all = slicing.shares.of(rows);
        const uint64_t first = all[own[0]];
        rows =
            std::all_of(own.begin(), own.end(), [&](uint64_t i) { return all[i] == first; }) ? first : Spec::kUnknown;
    }
    return spec;
}

class Slices final : public Streamed<Slices, class SlicesStream> {
  public:
    Slices(std::shared_ptr<const Dataset> source, Slicing slicing)
        : Streamed(source, sliced(source->spec(), slicing)), slicing_(std::move(slicing)) {}

    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> batches = source().size();
        if (!batches || slicing_.shares.rule == Shares::Rule::kEqual) return std::nullopt;
        return fitting_product(*batches, slicing_.own.size());
    }
    Traits traits() const override {
        return {.text = text("slices(", listed(slicing_.own), " of ", slicing_.shares.slices, ": ",
                             slicing_.shares.text(), ")")};
    }
    const Slicing &slicing() const { return slicing_; }

  private:
    Slicing slicing_;
};

class SlicesStream final : public Stage<Slices> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override {
        if (batch_.empty() && !next_batch()) return false;
        const uint64_t slice = dataset_->slicing().own[at_++];
        std::vector<Tensor> parts;
        parts.reserve(batch_.size());
        for (const Tensor &component : batch_) parts.push_back(component.rows(borders_[slice], borders_[slice + 1]));
        out = Element(std::move(parts), step_rows_);
        if (at_ == dataset_->slicing().own.size()) batch_.clear();
        return true;
    }

    /// Skips whole batches without making them, if no batch is left out.
    uint64_t leap(uint64_t count, Element &scratch) override {
        const Slicing &slicing = dataset_->slicing();
        uint64_t done = 0;
        for (; done < count && !batch_.empty(); ++done) produce(scratch);
        if (slicing.shares.rule != Shares::Rule::kEqual) {
            const uint64_t batches = (count - done) / slicing.own.size();
            const uint64_t passed = upstream_->replay(batches, scratch);
            done += passed * slicing.own.size();
            if (passed < batches) return done;
        }
        while (done < count && produce(scratch)) ++done;
        return done;
    }

    bool next_batch() {
        const bool equal = dataset_->slicing().shares.rule == Shares::Rule::kEqual;
        do {
            Element element;
            if (!upstream_->next(element)) return false;
            for (std::size_t i = 0; i < element.count(); ++i) batch_.push_back(element.tensor(i));
            cut(checked_rows());
            if (equal && borders_[1] == 0) batch_.clear();
        } while (batch_.empty());
        at_ = 0;
        return true;
    }

    void cut(uint64_t rows) {
        const Slicing &slicing = dataset_->slicing();
        const std::vector<uint64_t> all = slicing.shares.of(rows);
        borders_.assign(1, 0);
        for (const uint64_t share : all) borders_.push_back(borders_.back() + share);
        if (slicing.replicas.empty()) return;
        StepRows step_rows(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) step_rows[slicing.replicas[i]] = all[i];
        step_rows_ = std::make_shared<const StepRows>(std::move(step_rows));
    }

    uint64_t checked_rows() const {
        const Shape &first = batch_[0].shape();
        for (std::size_t i = 1; i < batch_.size(); ++i)
            if (batch_[i].shape().dims[0] != first.dims[0])
                throw invalid(text("component ", i, " of an element has ", batch_[i].shape().dims[0], " rows (shape ",
                                   batch_[i].shape().text(), "), but component 0 has ", first.dims[0], " (shape ",
                                   first.text(),
                                   "). All need the same number, to be split over replicas. Batch single elements "
                                   "(mdist_dataset_batch), and give every component of a batch its rows"));
        return first.dims[0];
    }

    void rewind() override {
        upstream_->restart();
        batch_.clear();
    }

    std::vector<Tensor> batch_;     // empty once its last slice was handed out
    std::vector<uint64_t> borders_; // slice i: rows borders_[i] to borders_[i + 1]
    std::size_t at_ = 0;            // in own
    std::shared_ptr<const StepRows> step_rows_;
};

} // namespace

std::shared_ptr<Dataset> make_slices(std::shared_ptr<const Dataset> source, Slicing slicing) {
    return std::make_shared<Slices>(std::move(source), std::move(slicing));
}

} // namespace mdist
