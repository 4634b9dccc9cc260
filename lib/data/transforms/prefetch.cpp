// SPDX-License-Identifier: Apache-2.0
// prefetch: makes elements before they are needed, on a thread of each iterator.
#include "data/transforms.h"
#include "data/transforms/ahead.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class Prefetch final : public Rewritable<Prefetch> {
  public:
    Prefetch(Source source, uint64_t elements) : Rewritable(source, source->spec()), elements_(elements) {
        check_any_thread(this->source(), "mdist_dataset_prefetch");
    }

    std::unique_ptr<Stream> open(const Iteration &iteration) const override {
        return open_ahead(self(*this), {"mdist prefetch", 1, elements_}, iteration);
    }
    Traits traits() const override {
        return {.text = text("prefetch(", elements_, ")"), .identity = "", .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override { return source().size(); }

  private:
    uint64_t elements_;
};

} // namespace

std::shared_ptr<Dataset> make_prefetch(Source source, uint64_t elements) {
    if (elements == 0) throw invalid("a prefetch of 0 elements is not allowed; use 1 or more");
    return std::make_shared<Prefetch>(std::move(source), elements);
}

} // namespace mdist
