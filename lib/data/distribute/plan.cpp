// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/plan.h"

#include "data/transforms.h"
#include "util/text.h"

#include <deque>

namespace mdist {
namespace {

/// The elements of a dataset over replicas, one replica after the other.
class InTurn final : public Dataset {
  public:
    InTurn(std::shared_ptr<const Dataset> split, uint64_t total)
        : Dataset(split->spec()), split_(std::move(split)), total_(total) {}
    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    bool borrows() const override { return split_->borrows(); }
    bool callers_thread_only() const override { return split_->callers_thread_only(); }
    const Dataset &split() const { return *split_; }
    uint64_t total() const { return total_; }

  private:
    std::shared_ptr<const Dataset> split_;
    uint64_t total_;
};

class InTurnStream final : public Stream {
  public:
    InTurnStream(std::shared_ptr<const InTurn> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->split().open(iteration)) {}

  private:
    bool produce(Element &out) override {
        if (parts_.empty() && !refill()) return false;
        out = std::move(parts_.front());
        parts_.pop_front();
        return true;
    }
    bool refill() {
        Element step;
        if (!upstream_->next(step)) return false;
        const std::size_t replicas = dataset_->split().replica_count();
        for (std::size_t i = 0; i < replicas; ++i) {
            std::vector<Tensor> tensors;
            for (std::size_t c = 0; c < dataset_->component_count(); ++c)
                tensors.push_back(step.tensor(c * replicas + i));
            parts_.emplace_back(std::move(tensors));
        }
        return true;
    }
    void rewind() override {
        parts_.clear();
        upstream_->restart();
    }

    std::shared_ptr<const InTurn> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::deque<Element> parts_;
};

std::unique_ptr<Stream> InTurn::open(const Iteration &iteration) const {
    return std::make_unique<InTurnStream>(self(*this), iteration);
}

} // namespace

Plan make_plan(std::shared_ptr<const Dataset> source, const InputLayout &layout, const Dealing &dealing) {
    Plan plan;
    if (!dealing.split) {
        plan.parts = make_shard(std::move(source), layout.workers, layout.worker);
        plan.common_knowledge = layout.workers == 1;
        return plan;
    }
    plan.parts = std::make_shared<InTurn>(
        make_split(std::move(source), layout.workers, layout.worker, layout.replicas, dealing.by_replica),
        layout.total());
    plan.common_knowledge = layout.workers == 1;
    plan.text = "policy DATA\n";
    return plan;
}

} // namespace mdist
