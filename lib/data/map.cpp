// SPDX-License-Identifier: Apache-2.0
// One element from another, by the caller's function.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class Map final : public Transform {
  public:
    Map(Source source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner, std::vector<Spec> outputs)
        : Transform(std::move(source), std::move(outputs)),
          map_(map),
          user_data_(user_data),
          owner_(std::move(owner)) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::optional<uint64_t> size() const override { return source().size(); }
    bool borrows() const override { return owner_ == nullptr || source().borrows(); }

    /// The caller's function; whatever goes wrong in it leaves as a Failure, but for the unwinding of a thread that
    /// ends in it, which nobody may stop.
    void call(const std::vector<mdist_tensor_t> &inputs, const std::vector<mdist_tensor_t> &outputs) const;

  private:
    mdist_map_fn map_;
    void *user_data_;
    std::shared_ptr<void> owner_; // of user_data_
};

Failure callback_failure(std::string message, const char *reason, int64_t native) {
    return Failure(MDIST_ERR_CALLBACK, std::move(message)).reason(reason).native(native);
}

void Map::call(const std::vector<mdist_tensor_t> &inputs, const std::vector<mdist_tensor_t> &outputs) const {
    int32_t result = 0;
    try {
        result = map_(inputs.data(), inputs.size(), outputs.data(), outputs.size(), user_data_);
    } catch (const std::exception &exception) {
        throw callback_failure(text("the map function threw: ", exception.what()), "map_threw", 0);
    } catch (...) {
        if (thread_is_ending()) throw;
        throw callback_failure("the map function threw something that is no std::exception", "map_threw", 0);
    }
    if (result != 0)
        throw callback_failure(text("the map function returned ", result, "; 0 goes on"), "map_returned", result);
}

class MapStream final : public Stream {
  public:
    MapStream(std::shared_ptr<const Map> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->source().open(iteration)) {}

  private:
    bool produce(Element &out) override {
        if (!upstream_->next(input_)) return false;
        inputs_.clear();
        for (std::size_t i = 0; i < input_.count(); ++i) inputs_.push_back(input_.tensor(i).describe());
        outputs_.clear();
        std::vector<Tensor> made;
        made.reserve(dataset_->component_count());
        for (const Spec &spec : dataset_->spec()) {
            Shape shape = spec.shape;
            if (shape.rank != 0 && shape.dims[0] == MDIST_ROWS) shape.dims[0] = input_.shape(0).dims[0];
            made.push_back(Tensor::allocate(*host(), spec.dtype, shape));
            outputs_.push_back(made.back().describe());
        }
        dataset_->call(inputs_, outputs_);
        if (!input_.is_row()) input_ = Element(); // rows of kept arrays cost nothing to hold
        out = Element(std::move(made));
        return true;
    }
    void rewind() override { upstream_->restart(); }

    std::shared_ptr<const Map> dataset_;
    std::unique_ptr<Stream> upstream_;
    Element input_;
    std::vector<mdist_tensor_t> inputs_;
    std::vector<mdist_tensor_t> outputs_;
};

std::unique_ptr<Stream> Map::open(const Iteration &iteration) const {
    return std::make_unique<MapStream>(self(*this), iteration);
}

Spec checked_output(mdist_tensor_t output, std::size_t index, const Dataset &source) {
    const std::string what = text("output ", index);
    const bool rows = output.rank > 0 && output.shape[0] == MDIST_ROWS;
    if (rows) output.shape[0] = 1;
    for (int32_t i = 1; i < output.rank && i < MDIST_MAX_RANK; ++i)
        if (output.shape[i] == MDIST_ROWS)
            throw invalid(text(what, " has MDIST_ROWS as dimension ", i, "; it can only stand in the first, 0"));
    Spec spec{output.dtype, checked_shape(output, what.c_str())};
    if (!rows) return spec;
    if (source.spec()[0].shape.rank == 0)
        throw invalid(what + " has MDIST_ROWS rows, but component 0 of the input is a scalar and has none to count");
    spec.shape.dims[0] = source.spec()[0].shape.dims[0];
    return spec;
}

} // namespace

std::shared_ptr<Dataset> make_map(Source source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                                  const mdist_tensor_t *outputs, std::size_t output_count) {
    if (map == nullptr) throw invalid("map is NULL");
    check_component_count(output_count, "outputs");
    if (outputs == nullptr) throw invalid("outputs is NULL");
    std::vector<Spec> spec;
    spec.reserve(output_count);
    for (std::size_t i = 0; i < output_count; ++i) spec.push_back(checked_output(outputs[i], i, *source));
    return std::make_shared<Map>(std::move(source), map, user_data, std::move(owner), std::move(spec));
}

} // namespace mdist
