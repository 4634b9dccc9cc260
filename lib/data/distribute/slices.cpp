// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/slices.h"

#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> sliced(std::vector<Spec> spec, const Shares &shares, const std::vector<uint64_t> &own) {
    for (Spec &component : spec) {
        uint64_t &rows = component.shape.dims[0];
        if (rows == Spec::kUnknown) continue;
        const std::vector<uint64_t> all = shares.of(rows);
        const bool alike = std::ranges::all_of(own, [&](uint64_t slice) { return all[slice] == all[own[0]]; });
        rows = alike ? all[own[0]] : Spec::kUnknown;
    }
    return spec;
}

class Slices final : public Transform {
  public:
    Slices(std::shared_ptr<const Dataset> source, Shares shares, std::vector<uint64_t> own,
           std::vector<uint64_t> everybodys)
        : Transform(source, sliced(source->spec(), shares, own)),
          shares_(std::move(shares)),
          own_(std::move(own)),
          everybodys_(std::move(everybodys)) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> batches = source().size();
        if (!batches || shares_.rule == Shares::Rule::kEqual) return std::nullopt;
        return *batches * own_.size();
    }
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Slices>(sources[0], shares_, own_, everybodys_);
    }
    Traits traits() const override {
        return {.text = text("slices(", listed(own_), " of ", shares_.slices, ": ", shares_.text(), ")")};
    }
    const Shares &shares() const { return shares_; }
    const std::vector<uint64_t> &own() const { return own_; }
    const std::vector<uint64_t> &everybodys() const { return everybodys_; }

  private:
    Shares shares_;
    std::vector<uint64_t> own_;
    std::vector<uint64_t> everybodys_;
};

class SlicesStream final : public Stream {
  public:
    SlicesStream(std::shared_ptr<const Slices> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->source().open(iteration)) {}

  private:
    bool produce(Element &out) override {
        if (batch_.empty() && !next_batch()) return false;
        const uint64_t slice = dataset_->own()[at_++];
        std::vector<Tensor> parts;
        parts.reserve(batch_.size());
        for (const Tensor &component : batch_) parts.push_back(component.rows(borders_[slice], borders_[slice + 1]));
        out = Element(std::move(parts), step_rows_);
        if (at_ == dataset_->own().size()) batch_.clear();
        return true;
    }

    bool next_batch() {
        const bool equal = dataset_->shares().rule == Shares::Rule::kEqual;
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

    /// Most batches have as many rows as the one before.
    void cut(uint64_t rows) {
        if (!borders_.empty() && rows == rows_) return;
        const std::vector<uint64_t> all = dataset_->shares().of(rows);
        rows_ = rows;
        borders_.assign(1, 0);
        for (const uint64_t share : all) borders_.push_back(borders_.back() + share);
        if (dataset_->everybodys().empty()) return;
        StepRows step;
        for (const uint64_t slice : dataset_->everybodys()) step.push_back(all[slice]);
        step_rows_ = std::make_shared<const StepRows>(std::move(step));
    }

    uint64_t checked_rows() const {
        const Shape &first = batch_[0].shape();
        for (std::size_t i = 1; i < batch_.size(); ++i)
            if (batch_[i].shape().dims[0] != first.dims[0])
                throw invalid(text("component ", i, " of an element has ", batch_[i].shape().dims[0], " rows (shape ",
                                   batch_[i].shape().text(), ") and component 0 has ", first.dims[0], " (shape ",
                                   first.text(),
                                   "), which cannot be split over replicas alike; give the "
                                   "dataset a batch first (mdist_dataset_batch)"));
        return first.dims[0];
    }

    void rewind() override {
        upstream_->restart();
        batch_.clear();
    }

    std::shared_ptr<const Slices> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::vector<Tensor> batch_; // empty when its last slice is out
    uint64_t rows_ = 0;         // of it
    std::shared_ptr<const StepRows> step_rows_;
    std::vector<uint64_t> borders_; // slice i: rows borders_[i] to borders_[i + 1]
    std::size_t at_ = 0;            // in own()
};

std::unique_ptr<Stream> Slices::open(const Iteration &iteration) const {
    return std::make_unique<SlicesStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_slices(std::shared_ptr<const Dataset> source, Shares shares, std::vector<uint64_t> own,
                                     std::vector<uint64_t> everybodys) {
    return std::make_shared<Slices>(std::move(source), std::move(shares), std::move(own), std::move(everybodys));
}

} // namespace mdist
