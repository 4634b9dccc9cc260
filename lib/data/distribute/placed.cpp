// SPDX-License-Identifier: Apache-2.0
#include "data/distribute/placed.h"

#include "device/gpu/upload.h"
#include "util/text.h"

#include <map>
#include <utility>

namespace mdist {
namespace {

class Placed final : public Streamed<Placed, class PlacedStream> {
  public:
    Placed(std::shared_ptr<const Dataset> source, std::vector<int32_t> gpus)
        : Streamed(source, source->spec()), gpus_(std::move(gpus)) {}

    Traits traits() const override {
        return {.text = text("on the GPUs of ", gpus_.size(), " replicas"), .identity = "", .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
    const std::vector<int32_t> &gpus() const { return gpus_; }

  private:
    std::vector<int32_t> gpus_;
};

class PlacedStream final : public Stage<Placed> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override {
        if (!upstream_->next(out)) return false;
        const int32_t gpu = dataset_->gpus()[next_++ % dataset_->gpus().size()];
        if (gpu >= 0) out = placed(out, gpu);
        return true;
    }

    Element placed(const Element &element, int32_t gpu) {
        std::vector<Tensor> tensors;
        for (std::size_t i = 0; i < element.count(); ++i) tensors.push_back(element.tensor(i));
        Upload &upload = uploads_.try_emplace(gpu, gpu).first->second;
        return {upload.copies_of(tensors), element.step_rows()};
    }

    bool leave_out(uint64_t count, Element &scratch) override {
        next_ += count;
        return upstream_->pass_over(count, scratch);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        const uint64_t done = upstream_->replay(count, scratch);
        next_ += done;
        return done;
    }
    void rewind() override {
        next_ = 0;
        upstream_->restart();
    }

    uint64_t next_ = 0;
    std::map<int32_t, Upload> uploads_;
};

} // namespace

std::shared_ptr<const Dataset> make_placed(std::shared_ptr<const Dataset> source, std::vector<int32_t> gpus) {
    return std::make_shared<Placed>(std::move(source), std::move(gpus));
}

Tensor zeros_on(int32_t gpu, int32_t dtype, const Shape &shape) {
    Tensor zeros = Tensor::zeros(*host(), dtype, shape);
    return gpu < 0 ? zeros : Upload(gpu).copies_of({zeros})[0];
}

} // namespace mdist
