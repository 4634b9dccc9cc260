// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/map_function.h"

#include "data/callback.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

mdist_map_fn checked(mdist_map_fn map) {
    if (map == nullptr) throw invalid("map is NULL");
    return map;
}

} // namespace

MapFunction::MapFunction(const Dataset &source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                         const mdist_tensor_t *outputs, std::size_t output_count)
    : map_(checked(map)),
      user_data_(user_data),
      owner_(std::move(owner)),
      outputs_(checked_outputs(outputs, output_count, &source.spec()[0])) {}

Element MapFunction::operator()(const Element &input, Room &room) const {
    describe_all(input, room.inputs);
    const uint64_t rows = input.shape(0).rank == 0 ? 0 : input.shape(0).dims[0];
    std::vector<Tensor> made = allocate_outputs(outputs_, rows);
    describe_all(made, room.outputs);
    call_function("map", [&] {
        return map_(room.inputs.data(), room.inputs.size(), room.outputs.data(), room.outputs.size(), user_data_);
    });
    return Element(std::move(made));
}

std::string MapFunction::text() const {
    return mdist::text("map(", text_of(outputs_), ")");
}

} // namespace mdist
