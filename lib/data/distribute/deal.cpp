// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/deal.h"

#include "data/distribute/placed.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

constexpr uint64_t kNone = Agreement::kNone;

/// Returns what is true of the elements of all parts. Throws MISMATCH.
std::vector<Spec> common_spec(const std::vector<std::shared_ptr<const Dataset>> &parts) {
    std::vector<Spec> common = parts.at(0)->spec();
    for (std::size_t replica = 1; replica < parts.size(); ++replica) {
        const std::vector<Spec> &other = parts[replica]->spec();
        bool alike = common.size() == other.size();
        for (std::size_t i = 0; alike && i < common.size(); ++i) {
            Shape &shape = common[i].shape;
            alike = common[i].dtype == other[i].dtype && shape.rank == other[i].shape.rank;
            for (int32_t d = 0; alike && d < shape.rank; ++d)
                if (shape.dims[d] != other[i].shape.dims[d]) shape.dims[d] = Spec::kUnknown;
        }
        if (!alike)
            throw Failure(MDIST_ERR_MISMATCH, text("the datasets of replicas 0 and ", replica,
                                                   " differ in the number, dtype or rank of their components; they "
                                                   "must be the same for all replicas"));
    }
    return common;
}

bool is_static(const std::vector<Spec> &spec) {
    return std::all_of(spec.begin(), spec.end(), [](const Spec &component) {
        const uint64_t *const dims = component.shape.dims;
        return std::find(dims, dims + component.shape.rank, Spec::kUnknown) == dims + component.shape.rank;
    });
}

/// A replica without a sub-batch gets 0 rows, so the number of rows is not known in advance if that can happen. If all
/// shapes are known and this worker decides alone, the shapes are kept as promised: an incomplete step is then the end.
std::vector<Spec> dealt_spec(std::vector<Spec> spec, const Deal &deal) {
    const bool some_sit_out = deal.partial && (deal.agreement != nullptr || !is_static(spec));
    for (Spec &component : spec)
        if (some_sit_out && component.shape.rank != 0) component.shape.dims[0] = Spec::kUnknown;
    return spec;
}

class Dealt final : public Streamed<Dealt, class DealtStream, Combination> {
  public:
    Dealt(std::vector<std::shared_ptr<const Dataset>> parts, Deal deal)
        : Streamed(parts, dealt_spec(common_spec(parts), deal)), deal_(std::move(deal)) {
        if (deal_.agreement == nullptr && is_static(spec())) deal_.partial = false;
    }

    std::size_t replica_count() const override { return deal_.replicas; }
    std::shared_ptr<Agreement> agreement() const override { return deal_.agreement ? deal_.agreement() : nullptr; }
    std::string description() const override { return deal_.source; }
    std::string layout(uint64_t taken) const override { return taken == 0 ? "" : deal_.place; }
    std::string deal_text() const override { return deal_.text; }
    const Deal &deal() const { return deal_; }
    int32_t gpu_of(std::size_t replica) const { return deal_.gpus.empty() ? -1 : deal_.gpus[replica]; }

    std::vector<std::unique_ptr<Stream>> open_parts(const Iteration &iteration) const { return open_all(iteration); }

  private:
    Deal deal_;
};

/// Makes what a replica without a sub-batch gets.
Tensor nothing_of(const Spec &component, int32_t gpu) {
    Shape shape = component.shape;
    for (int32_t i = 0; i < shape.rank; ++i)
        if (i == 0 || shape.dims[i] == Spec::kUnknown) shape.dims[i] = 0;
    return zeros_on(gpu, component.dtype, shape);
}

class DealtStream final : public Stream {
  public:
    DealtStream(std::shared_ptr<const Dealt> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          parts_(dataset_->open_parts(iteration)),
          agreement_(iteration.agreement),
          step_rows_(iteration.step_rows),
          step_(dataset_->replica_count()) {}

  private:
    bool produce(Element &out) override {
        const StepRows all = agreement_ ? agreement_->agree([&] { return take(); }) : take();
        const auto idle = std::count(all.begin(), all.end(), kNone);
        const bool over = dataset_->deal().partial ? idle == static_cast<std::ptrdiff_t>(all.size()) : idle != 0;
        if (over) return false;
        if (step_rows_) tell(all);
        out = joined();
        return true;
    }

    /// Takes the next sub-batch of each local replica into step_. Returns their rows.
    StepRows take() {
        StepRows rows(step_.size(), kNone);
        for (std::size_t i = 0; i < step_.size(); ++i) {
            if (parts_[i % parts_.size()]->next(step_[i]))
                rows[i] = rows_of(step_[i]);
            else
                step_[i] = Element();
        }
        return rows;
    }

    static uint64_t rows_of(const Element &part) { return part.shape(0).rank == 0 ? 1 : part.shape(0).dims[0]; }

    void tell(const StepRows &all) const {
        if (const auto known = step_[0].count() != 0 && !agreement_ ? step_[0].step_rows() : nullptr) {
            *step_rows_ = *known;
            return;
        }
        *step_rows_ = all;
        std::replace(step_rows_->begin(), step_rows_->end(), kNone, uint64_t{0});
    }

    Element joined() {
        std::vector<Tensor> tensors;
        tensors.reserve(dataset_->component_count() * step_.size());
        for (std::size_t component = 0; component < dataset_->component_count(); ++component)
            for (std::size_t replica = 0; replica < step_.size(); ++replica)
                tensors.push_back(step_[replica].count() != 0
                                      ? step_[replica].tensor(component)
                                      : nothing_of(dataset_->spec()[component], dataset_->gpu_of(replica)));
        std::fill(step_.begin(), step_.end(), Element());
        return Element(std::move(tensors));
    }

    /// Does not ask the other workers, which replay as many steps. A worker that had run out stays so.
    uint64_t leap(uint64_t count, Element &scratch) override {
        const uint64_t each = step_.size() / parts_.size(); // elements of one part in a step
        const uint64_t all = saturated_product(count, each);
        uint64_t most = 0, least = UINT64_MAX;
        for (const auto &part : parts_) {
            const uint64_t done = part->replay(all, scratch);
            most = std::max(most, done / each + (done % each != 0 ? 1 : 0));
            least = std::min(least, done / each);
        }
        if (agreement_) return count;
        return std::min(count, dataset_->deal().partial ? most : least);
    }

    void rewind() override {
        for (const auto &part : parts_) part->restart();
    }

    std::shared_ptr<const Dealt> dataset_;
    std::vector<std::unique_ptr<Stream>> parts_;
    std::shared_ptr<Agreement> agreement_;
    std::shared_ptr<StepRows> step_rows_;
    std::vector<Element> step_; // empty for a replica without a sub-batch
};

} // namespace

std::shared_ptr<Dataset> make_dealt(std::vector<std::shared_ptr<const Dataset>> parts, Deal deal) {
    return std::make_shared<Dealt>(std::move(parts), std::move(deal));
}

} // namespace mdist
