// SPDX-License-Identifier: Apache-2.0
// map: the caller's function makes one element from another, on the thread that asks or on several threads at a time.
#include "data/transforms.h"
#include "data/transforms/ahead.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class Map final : public Rewritable<Map> {
  public:
    Map(Source source, MapFunction map, uint32_t parallel_calls, bool ordered)
        : Rewritable(std::move(source), map.outputs()),
          map_(std::move(map)),
          parallel_calls_(parallel_calls),
          ordered_(ordered) {
        if (parallel_calls != 0) check_any_thread(this->source(), "mdist_dataset_map with parallel_calls");
    }

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    Traits traits() const override {
        if (parallel_calls_ == 0) return {.text = map_.text()};
        return {.text = text("map_parallel(", parallel_calls_, " calls", ordered_ ? "" : ", in any order", ")"),
                .identity = map_.text()};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
    bool borrows() const override { return map_.borrows() || source().borrows(); }
    const MapFunction &map() const { return map_; }

  private:
    const MapFunction map_;
    const uint32_t parallel_calls_; // 0: on the thread that asks
    const bool ordered_;
};

class MapStream final : public Stage<Map> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override {
        if (!upstream_->next(input_)) return false;
        out = dataset_->map()(input_, room_);
        if (!input_.is_row()) input_ = Element(); // release it; a row of a kept array costs nothing to hold
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override { return upstream_->replay(count, scratch); }

    Element input_;
    MapFunction::Room room_;
};

Failure inexact() {
    return Failure(
               MDIST_ERR_FAILED_PRECONDITION,
               "mdist_dataset_map with MDIST_DATASET_UNORDERED gives elements in the order in which calls end, so a "
               "saved position could not say which are left. To save an iterator, make the map without that flag")
        .reason("unordered");
}

std::unique_ptr<Stream> Map::open(const Iteration &iteration) const {
    if (parallel_calls_ == 0) return std::make_unique<MapStream>(self(*this), iteration);
    if (!ordered_ && iteration.series != nullptr) iteration.series->refuse(inexact());
    return open_ahead(self(*this), {"mdist map", parallel_calls_, 2 * uint64_t{parallel_calls_}, &map_, ordered_},
                      iteration);
}

} // namespace

std::shared_ptr<Dataset> make_map(Source source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                                  const mdist_tensor_t *outputs, std::size_t output_count, uint32_t parallel_calls,
                                  bool ordered) {
    constexpr uint32_t kMost = 1024;
    if (parallel_calls > kMost) throw invalid(text("parallel_calls is ", parallel_calls, "; it must be 0 to ", kMost));
    MapFunction function(*source, map, user_data, std::move(owner), outputs, output_count);
    return std::make_shared<Map>(std::move(source), std::move(function), parallel_calls, ordered);
}

} // namespace mdist
