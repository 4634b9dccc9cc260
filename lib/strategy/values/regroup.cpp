// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/regroup.h"

#include "strategy/values/structure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::string path_text(const std::string &path) {
    return path.empty() ? "a tensor without a path" : text('"', path, '"');
}

} // namespace

void require_same_paths(const std::string &what, const Part &a, const std::string &a_where, const Part &b,
                        const std::string &b_where) {
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const NamedTensor &x, const NamedTensor &y) { return x.path == y.path; });
    if (differ.first == a.end() && differ.second == b.end()) return;
    const bool in_a =
        differ.second == b.end() || (differ.first != a.end() && path_before(differ.first->path, differ.second->path));
    throw Failure(MDIST_ERR_MISMATCH,
                  text(what, " has ", path_text(in_a ? differ.first->path : differ.second->path), ' ',
                       in_a ? a_where : b_where, " and not ", in_a ? b_where : a_where,
                       (in_a ? b : a).empty() ? ", which has nothing" : "", "; all must have the same paths"))
        .reason("different_paths");
}

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

ValuePointer regroup(const std::string &what, std::vector<Part> parts, uint32_t first_id) {
    for (uint32_t i = 1; i < parts.size(); ++i)
        require_same_paths(what, parts[0], text("on replica ", first_id), parts[i], text("on replica ", first_id + i));
    if (parts[0].empty()) return nullptr;
    std::vector<Leaf> leaves;
    for (std::size_t leaf = 0; leaf < parts[0].size(); ++leaf) {
        const std::string &path = parts[0][leaf].path;
        std::vector<Tensor> tensors;
        for (Part &part : parts) tensors.push_back(std::move(part[leaf].tensor));
        const std::string name = path.empty() ? what : text("\"", path, "\" of ", what);
        leaves.push_back({path, Value::per_replica(std::move(tensors), name.c_str())});
    }
    try {
        return structure_of(std::move(leaves));
    } catch (Failure &failure) {
        throw std::move(failure).about(what);
    }
}

} // namespace mdist
