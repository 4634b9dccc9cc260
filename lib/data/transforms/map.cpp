// SPDX-License-Identifier: Apache-2.0
// map: the caller's function makes one element from another.
#include "data/transforms.h"
#include "data/transforms/map_function.h"

#include <utility>

namespace mdist {
namespace {

class Map final : public Transform {
  public:
    Map(Source source, MapFunction map) : Transform(std::move(source), map.outputs()), map_(std::move(map)) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Map>(sources[0], map_);
    }
    Traits traits() const override { return {.text = map_.text()}; }
    std::optional<uint64_t> size() const override { return source().size(); }
    bool borrows() const override { return map_.borrows() || source().borrows(); }
    const MapFunction &map() const { return map_; }

  private:
    MapFunction map_;
};

class MapStream final : public Stream {
  public:
    MapStream(std::shared_ptr<const Map> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->source().open(iteration)) {}

  private:
    bool produce(Element &out) override {
        if (!upstream_->next(input_)) return false;
        out = dataset_->map()(input_, room_);
        if (!input_.is_row()) input_ = Element(); // release it; a row of a kept array costs nothing to hold
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override { return upstream_->replay(count, scratch); }
    void rewind() override { upstream_->restart(); }

    std::shared_ptr<const Map> dataset_;
    std::unique_ptr<Stream> upstream_;
    Element input_;
    MapFunction::Room room_;
};

std::unique_ptr<Stream> Map::open(const Iteration &iteration) const {
    return std::make_unique<MapStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_map(Source source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                                  const mdist_tensor_t *outputs, std::size_t output_count) {
    MapFunction function(*source, map, user_data, std::move(owner), outputs, output_count);
    return std::make_shared<Map>(std::move(source), std::move(function));
}

} // namespace mdist
