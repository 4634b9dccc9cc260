// SPDX-License-Identifier: Apache-2.0
// Value: one tensor for all replicas, one tensor for each local replica, or a structure whose leaves are such values
// (structure.h). A value never changes, so any thread may read it.
#pragma once

#include "device/tensor.h"
#include "util/failure.h"

#include <mdist/value.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mdist {

struct Leaf;

class Value {
  public:
    static std::shared_ptr<Value> plain(Tensor tensor);
    static std::shared_ptr<Value> mirrored(std::vector<Tensor> tensors);
    /// Throws MISMATCH if the dtypes differ. `what` names the value in the error ("result 2", "tensor").
    static std::shared_ptr<Value> per_replica(std::vector<Tensor> tensors, const char *what = "tensor");

    mdist_value_kind_t kind() const { return kind_; }
    bool is_structure() const { return kind_ == MDIST_VALUE_STRUCTURE; }
    /// The leaves of a structure, in the order of their paths.
    const std::vector<Leaf> &leaves() const { return leaves_; }
    /// Empty for a structure.
    std::span<const Tensor> tensors() const { return {several_.empty() ? &only_ : several_.data(), count_}; }
    /// What local replica `local` sees: its own tensor, or the only one. Throws INVALID_ARGUMENT for a structure.
    const Tensor &tensor_for(uint32_t local) const {
        if (is_structure()) throw refused("the value");
        return tensors()[kind_ == MDIST_VALUE_PLAIN ? 0 : local];
    }

    /// Whether its tensors are rows of larger ones.
    bool has_rows() const { return !indices_.empty(); }
    /// The row indices that local replica `local` sees, if the value has rows.
    const Tensor &indices_for(uint32_t local) const { return indices_[kind_ == MDIST_VALUE_PLAIN ? 0 : local]; }
    /// Throws UNSUPPORTED if it has rows. For functions that need whole tensors.
    void check_no_rows(std::ptrdiff_t argument = -1) const;

    /// Throws INVALID_ARGUMENT if there is no such index.
    const Tensor &tensor_at(std::size_t index) const;

    /// Throws INVALID_ARGUMENT unless it has one tensor for all or one for each of `local_replicas`, since it may come
    /// from another strategy. A structure has neither. The error calls it "the value", or "argument 3" by its index.
    void check_count(std::size_t local_replicas, std::ptrdiff_t argument = -1) const;
    /// The failure of a function that needs tensors and got a structure.
    Failure refused(const std::string &what) const;

    /// With `indices`, it has rows of larger tensors, which value_of_rows() has checked (rows.h).
    Value(mdist_value_kind_t kind, std::vector<Tensor> tensors, std::vector<Tensor> indices = {});
    /// A plain value.
    explicit Value(Tensor &&tensor);
    /// structure_of() has checked the leaves.
    explicit Value(std::vector<Leaf> leaves);
    Value(const Value &) = delete;
    Value &operator=(const Value &) = delete;

  private:
    mdist_value_kind_t kind_;
    std::size_t count_ = 0;       // tensors
    std::vector<Tensor> several_; // if there are more than one
    std::vector<Leaf> leaves_;
    std::vector<Tensor> indices_; // of rows; empty if the tensors are whole
    Tensor only_;                 // if there is one
};

/// "per-replica"
const char *kind_text(mdist_value_kind_t kind);

using ValuePointer = std::shared_ptr<Value>;

struct Leaf {
    std::string path;
    ValuePointer value;
};

/// "a", "b.0" and 3 more
std::string leaves_text(const std::vector<Leaf> &leaves);

} // namespace mdist
