// SPDX-License-Identifier: Apache-2.0
// filter: leaves only the elements that the caller's function keeps.
#include "data/callback.h"
#include "data/transforms.h"

#include <utility>

namespace mdist {
namespace {

class Filter final : public Streamed<Filter, class FilterStream> {
  public:
    Filter(Source source, mdist_filter_fn filter, void *user_data, std::shared_ptr<void> owner)
        : Streamed(source, source->spec()), filter_(filter), user_data_(user_data), owner_(std::move(owner)) {}

    Traits traits() const override { return {.text = "filter", .keeps_batch_size = true}; }
    bool borrows() const override { return owner_ == nullptr || source().borrows(); }

    bool keeps(const std::vector<mdist_tensor_t> &inputs) const {
        int32_t keep = 0;
        call_function("filter", [&] { return filter_(inputs.data(), inputs.size(), &keep, user_data_); });
        return keep != 0;
    }

  private:
    mdist_filter_fn filter_;
    void *user_data_;
    std::shared_ptr<void> owner_; // keeps user_data_ valid
};

class FilterStream final : public Stage<Filter> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override {
        while (upstream_->next(out)) {
            describe_all(out, inputs_);
            if (dataset_->keeps(inputs_)) return true;
        }
        return false;
    }

    std::vector<mdist_tensor_t> inputs_;
};

} // namespace

std::shared_ptr<Dataset> make_filter(Source source, mdist_filter_fn filter, void *user_data,
                                     std::shared_ptr<void> owner) {
    if (filter == nullptr) throw invalid("filter is NULL");
    return std::make_shared<Filter>(std::move(source), filter, user_data, std::move(owner));
}

} // namespace mdist
