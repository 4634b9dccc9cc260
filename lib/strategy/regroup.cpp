// SPDX-License-Identifier: Apache-2.0
#include "strategy/regroup.h"

#include "strategy/structure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::string path_text(const std::string &path) {
    return path.empty() ? "a tensor without a path" : text('"', path, '"');
}

/// Throws MISMATCH unless the parts of two replicas have the same paths.
void require_same_paths(const std::string &what, const Part &a, uint32_t a_id, const Part &b, uint32_t b_id) {
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const NamedTensor &x, const NamedTensor &y) { return x.path == y.path; });
    if (differ.first == a.end() && differ.second == b.end()) return;
    const bool in_a =
        differ.second == b.end() || (differ.first != a.end() && path_before(differ.first->path, differ.second->path));
    const Part &without = in_a ? b : a;
    const uint32_t has = in_a ? a_id : b_id;
    const uint32_t has_not = in_a ? b_id : a_id;
    throw Failure(MDIST_ERR_MISMATCH,
                  text(what, " has ", path_text(in_a ? differ.first->path : differ.second->path), " on replica ", has,
                       " and not on replica ", has_not, without.empty() ? ", which has nothing" : "",
                       "; every replica must have the same paths"))
        .replica(static_cast<int32_t>(has_not))
        .reason("different_paths");
}

} // namespace

Part sorted_part(Part leaves) {
    std::stable_sort(leaves.begin(), leaves.end(),
                     [](const NamedTensor &a, const NamedTensor &b) { return path_before(a.path, b.path); });
    Part part;
    for (NamedTensor &leaf : leaves) {
        if (!part.empty() && part.back().path == leaf.path) part.pop_back();
        part.push_back(std::move(leaf));
    }
    return part;
}

ValuePointer regroup(const std::string &what, std::vector<Part> parts, uint32_t first_id, Grouping grouping) {
    for (uint32_t i = 1; i < parts.size(); ++i) require_same_paths(what, parts[0], first_id, parts[i], first_id + i);
    if (parts[0].empty()) return nullptr;
    std::vector<Leaf> leaves;
    for (std::size_t leaf = 0; leaf < parts[0].size(); ++leaf) {
        const std::string &path = parts[0][leaf].path;
        std::vector<Tensor> tensors;
        for (Part &part : parts) tensors.push_back(std::move(part[leaf].tensor));
        const bool plain = tensors.size() == 1 && grouping == Grouping::kPlainIfAlone;
        const std::string name = path.empty() ? what : text("\"", path, "\" of ", what);
        leaves.push_back(
            {path, plain ? Value::plain(std::move(tensors[0])) : Value::per_replica(std::move(tensors), name.c_str())});
    }
    try {
        return structure_of(std::move(leaves));
    } catch (Failure &failure) {
        throw std::move(failure).about(what);
    }
}

} // namespace mdist
