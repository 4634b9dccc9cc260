// SPDX-License-Identifier: Apache-2.0
// zip: puts datasets side by side. An element has the components of one element of each.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> side_by_side(const std::vector<Source> &sources) {
    std::vector<Spec> spec;
    for (const Source &source : sources) spec.insert(spec.end(), source->spec().begin(), source->spec().end());
    check_component_count(spec.size(), "components");
    return spec;
}

class Zip final : public Streamed<Zip, class ZipStream, Rewritable<Zip, Combination>> {
  public:
    explicit Zip(const std::vector<Source> &sources) : Streamed(sources, side_by_side(sources)) {}

    Traits traits() const override { return {.text = "zip", .keeps_batch_size = true}; }
    bool endless() const override {
        const Sources all = sources();
        return std::all_of(all.begin(), all.end(), [](const Source &source) { return source->endless(); });
    }
    /// The size is unknown if that of any source is: that source may be endless, or the shortest.
    std::optional<uint64_t> size() const override {
        uint64_t least = UINT64_MAX;
        for (const Source &source : sources()) {
            const std::optional<uint64_t> size = source->size();
            if (!size) return std::nullopt;
            least = std::min(least, *size);
        }
        return least;
    }
    using Combination::open_all;
};

class ZipStream final : public Stream {
  public:
    ZipStream(const std::shared_ptr<const Zip> &dataset, const Iteration &iteration)
        : Stream(iteration), components_(dataset->component_count()), upstreams_(dataset->open_all(iteration)) {}

  private:
    bool produce(Element &out) override {
        std::vector<Tensor> tensors;
        tensors.reserve(components_);
        for (const auto &upstream : upstreams_) {
            if (!upstream->next(part_)) return false;
            for (std::size_t i = 0; i < part_.count(); ++i) tensors.push_back(part_.tensor(i));
        }
        part_ = Element();
        out = Element(std::move(tensors));
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        for (const auto &upstream : upstreams_) count = std::min(count, upstream->replay(count, scratch));
        return count;
    }
    void rewind() override {
        for (const auto &upstream : upstreams_) upstream->restart();
    }

    std::size_t components_;
    std::vector<std::unique_ptr<Stream>> upstreams_;
    Element part_;
};

} // namespace

std::shared_ptr<Dataset> make_zip(const std::vector<Source> &sources) {
    return std::make_shared<Zip>(sources);
}

} // namespace mdist
