// SPDX-License-Identifier: Apache-2.0
// Datasets of elements that the caller's function makes.
#include "data/callback.h"
#include "data/sources.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class FromGenerator final : public Streamed<FromGenerator, class GeneratorStream, Dataset> {
  public:
    FromGenerator(const Generator &generator, std::shared_ptr<void> owner, std::vector<Spec> outputs)
        : Streamed(std::move(outputs)), generator_(generator), owner_(std::move(owner)) {}

    Traits traits() const override { return {.text = text("from_generator(", text_of(spec()), ")")}; }
    bool borrows() const override { return owner_ == nullptr; }
    bool callers_thread_only() const override { return !generator_.any_thread; }
    const Generator &generator() const { return generator_; }

  private:
    Generator generator_;
    std::shared_ptr<void> owner_; // of user_data
};

class GeneratorStream final : public Stream {
  public:
    GeneratorStream(std::shared_ptr<const FromGenerator> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)) {}
    ~GeneratorStream() override { free_state(); }

  private:
    bool produce(Element &out) override {
        const Generator &generator = dataset_->generator();
        std::vector<Tensor> made = allocate_outputs(dataset_->spec(), 0);
        describe_all(made, outputs_);
        const int32_t result = call_function(
            "generator",
            [&] { return generator.generate(index_, outputs_.data(), outputs_.size(), &state_, generator.user_data); },
            MDIST_END);
        if (result == MDIST_END) return free_state(), false;
        ++index_;
        out = Element(std::move(made));
        return true;
    }

    void rewind() override {
        free_state();
        index_ = 0;
    }

    void free_state() {
        void *state = std::exchange(state_, nullptr);
        if (state == nullptr || dataset_->generator().free_state == nullptr) return;
        try {
            dataset_->generator().free_state(state);
        } catch (...) {
            return; // the caller's mistake, and there is nobody left to report it to
        }
    }

    std::shared_ptr<const FromGenerator> dataset_;
    uint64_t index_ = 0;
    void *state_ = nullptr; // the caller's
    std::vector<mdist_tensor_t> outputs_;
};

} // namespace

std::shared_ptr<Dataset> make_from_generator(const Generator &generator, std::shared_ptr<void> owner,
                                             const mdist_tensor_t *outputs, std::size_t output_count) {
    if (generator.generate == nullptr) throw invalid("generate is NULL");
    return std::make_shared<FromGenerator>(generator, std::move(owner),
                                           checked_outputs(outputs, output_count, nullptr));
}

} // namespace mdist
