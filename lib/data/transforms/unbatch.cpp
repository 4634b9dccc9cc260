// SPDX-License-Identifier: Apache-2.0
// unbatch: makes an element of each row of the source's elements.
#include "data/transforms.h"
#include "data/transforms/row_sequence.h"
#include "util/sizes.h"

namespace mdist {
namespace {

std::vector<Spec> unbatched(std::vector<Spec> spec) {
    check_has_rows(spec);
    for (Spec &component : spec) component.shape = component.shape.without_first();
    return spec;
}

class Unbatch final : public Streamed<Unbatch, class UnbatchStream> {
  public:
    explicit Unbatch(const Source &source) : Streamed(source, unbatched(source->spec())) {}

    Traits traits() const override { return {.text = "unbatch"}; }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> elements = source().size();
        const uint64_t rows = source().spec()[0].shape.dims[0];
        return elements && rows != Spec::kUnknown ? fitting_product(*elements, rows) : std::nullopt;
    }
};

class UnbatchStream final : public Stream {
  public:
    UnbatchStream(const std::shared_ptr<const Unbatch> &dataset, const Iteration &iteration)
        : Stream(iteration), rows_(dataset->source(), iteration) {}

  private:
    bool produce(Element &out) override {
        if (!rows_.more()) return false;
        rows_.take(out);
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override { return rows_.replay(count, scratch); }
    void rewind() override { rows_.restart(); }

    RowSequence rows_;
};

} // namespace

std::shared_ptr<Dataset> make_unbatch(const Source &source) {
    return std::make_shared<Unbatch>(source);
}

} // namespace mdist
