// SPDX-License-Identifier: Apache-2.0
// concatenate: the elements of one dataset, then those of another.
#include "data/transforms.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

namespace mdist {
namespace {

/// Returns what is true of a component of both datasets.
Spec common(const Spec &first, const Spec &second, std::size_t component) {
    if (first.dtype != second.dtype || first.shape.rank != second.shape.rank)
        throw Failure(MDIST_ERR_MISMATCH,
                      text("component ", component, " is ", dtype_name(first.dtype), " of rank ", first.shape.rank,
                           " in the first dataset and ", dtype_name(second.dtype), " of rank ", second.shape.rank,
                           " in the second; concatenated datasets need the same dtype and rank"));
    Spec both = first;
    for (int32_t i = 0; i < both.shape.rank; ++i)
        if (first.shape.dims[i] != second.shape.dims[i]) both.shape.dims[i] = Spec::kUnknown;
    return both;
}

std::vector<Spec> common(const Dataset &first, const Dataset &second) {
    if (first.component_count() != second.component_count())
        throw Failure(MDIST_ERR_MISMATCH,
                      text("the first dataset has ", first.component_count(), " components and the second ",
                           second.component_count(), "; to concatenate them both need the same number"));
    std::vector<Spec> spec;
    for (std::size_t i = 0; i < first.component_count(); ++i)
        spec.push_back(common(first.spec()[i], second.spec()[i], i));
    return spec;
}

class Concatenate final : public Streamed<Concatenate, class ConcatenateStream, Rewritable<Concatenate, Combination>> {
  public:
    Concatenate(const Source &first, const Source &second) : Streamed({first, second}, common(*first, *second)) {}

    Traits traits() const override { return {.text = "concatenate", .keeps_batch_size = true}; }
    bool endless() const override { return sources()[0]->endless() || sources()[1]->endless(); }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> first = sources()[0]->size();
        const std::optional<uint64_t> second = sources()[1]->size();
        return first && second ? fitting_sum(*first, *second) : std::nullopt;
    }
    using Combination::open_all;
};

class ConcatenateStream final : public Stream {
  public:
    ConcatenateStream(const std::shared_ptr<const Concatenate> &dataset, const Iteration &iteration)
        : Stream(iteration), upstreams_(dataset->open_all(iteration)) {}

  private:
    bool produce(Element &out) override {
        for (; at_ < upstreams_.size(); ++at_)
            if (upstreams_[at_]->next(out)) return true;
        return false;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        uint64_t done = 0;
        for (;; ++at_) {
            if (at_ < upstreams_.size()) done += upstreams_[at_]->replay(count - done, scratch);
            if (done == count || at_ == upstreams_.size()) return done;
        }
    }
    void rewind() override {
        for (const auto &upstream : upstreams_) upstream->restart();
        at_ = 0;
    }

    std::vector<std::unique_ptr<Stream>> upstreams_;
    std::size_t at_ = 0;
};

} // namespace

std::shared_ptr<Dataset> make_concatenate(const Source &first, const Source &second) {
    return std::make_shared<Concatenate>(first, second);
}

} // namespace mdist
