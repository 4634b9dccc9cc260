// SPDX-License-Identifier: Apache-2.0
// MapFunction: the caller's function that makes one element from another, with everything it needs. Immutable; any
// thread.
#pragma once

#include "data/dataset.h"

#include <memory>
#include <vector>

namespace mdist {

class MapFunction {
  public:
    /// `user_data` stays valid as long as `owner` is held. If `owner` is null, the caller keeps it valid. Throws
    /// INVALID_ARGUMENT.
    MapFunction(const Dataset &source, mdist_map_fn map, void *user_data, std::shared_ptr<void> owner,
                const mdist_tensor_t *outputs, std::size_t output_count);

    const std::vector<Spec> &outputs() const { return outputs_; }
    bool borrows() const { return owner_ == nullptr; }
    /// Returns the description of a map. It is the same for any number of threads.
    std::string text() const;

    /// Memory that the calls of one thread reuse.
    struct Room {
        std::vector<mdist_tensor_t> inputs;
        std::vector<mdist_tensor_t> outputs;
    };
    /// Throws CALLBACK.
    Element operator()(const Element &input, Room &room) const;

  private:
    mdist_map_fn map_;
    void *user_data_;
    std::shared_ptr<void> owner_; // keeps user_data_ valid
    std::vector<Spec> outputs_;
};

} // namespace mdist
