// SPDX-License-Identifier: Apache-2.0
// Batches cut over replicas: the rule for data in memory, which never joins rows of two batches.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> cut(std::vector<Spec> spec, uint64_t slices) {
    for (std::size_t i = 0; i < spec.size(); ++i) {
        if (spec[i].shape.rank == 0)
            throw invalid(text("component ", i,
                               " of the dataset is a scalar, which cannot be split over replicas; give "
                               "the dataset a batch first (mdist_dataset_batch)"));
        uint64_t &rows = spec[i].shape.dims[0];
        rows = rows == Spec::kUnknown || rows % slices != 0 ? Spec::kUnknown : rows / slices;
    }
    return spec;
}

class Split final : public Transform {
  public:
    Split(Source source, uint64_t workers, uint64_t worker, uint64_t replicas, bool by_replica)
        : Transform(source, cut(source->spec(), workers * replicas)),
          slices_(workers * replicas),
          replicas_(replicas),
          first_(by_replica ? worker * replicas : worker),
          stride_(by_replica ? 1 : workers) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    /// An element is a batch of all replicas in every layout.
    std::optional<uint64_t> size() const override { return source().size(); }
    std::size_t replica_count() const override { return replicas_; }

    /// What local replica `replica` gets of a batch's component.
    Tensor slice(const Tensor &batch, uint64_t replica) const {
        const uint64_t rows = batch.shape().dims[0];
        const uint64_t most = rows / slices_ + (rows % slices_ != 0 ? 1 : 0);
        const uint64_t begin = std::min((first_ + replica * stride_) * most, rows);
        return batch.rows(begin, std::min(begin + most, rows));
    }

  private:
    uint64_t slices_;
    uint64_t replicas_;
    uint64_t first_;  // slice of local replica 0
    uint64_t stride_; // to the next one's
};

class SplitStream final : public Stream {
  public:
    SplitStream(std::shared_ptr<const Split> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->source().open(iteration)) {}

  private:
    bool produce(Element &out) override {
        if (!upstream_->next(batch_)) return false;
        check_rows();
        std::vector<Tensor> parts;
        parts.reserve(batch_.count() * dataset_->replica_count());
        for (std::size_t component = 0; component < batch_.count(); ++component) {
            const Tensor all = batch_.tensor(component);
            for (std::size_t i = 0; i < dataset_->replica_count(); ++i) parts.push_back(dataset_->slice(all, i));
        }
        batch_ = Element();
        out = Element(std::move(parts));
        return true;
    }

    void check_rows() const {
        const uint64_t rows = batch_.shape(0).dims[0];
        for (std::size_t i = 1; i < batch_.count(); ++i)
            if (batch_.shape(i).dims[0] != rows)
                throw invalid(text("component ", i, " of an element has ", batch_.shape(i).dims[0], " rows (shape ",
                                   batch_.shape(i).text(), ") and component 0 has ", rows, " (shape ",
                                   batch_.shape(0).text(),
                                   "), which cannot be split over replicas alike; give the "
                                   "dataset a batch first (mdist_dataset_batch)"));
    }

    uint64_t leap(uint64_t count, Element &scratch) override { return upstream_->replay(count, scratch); }
    void rewind() override { upstream_->restart(); }

    std::shared_ptr<const Split> dataset_;
    std::unique_ptr<Stream> upstream_;
    Element batch_;
};

std::unique_ptr<Stream> Split::open(const Iteration &iteration) const {
    return std::make_unique<SplitStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_split(Source source, uint64_t workers, uint64_t worker, uint64_t replicas,
                                    bool by_replica) {
    return std::make_shared<Split>(std::move(source), workers, worker, replicas, by_replica);
}

} // namespace mdist
