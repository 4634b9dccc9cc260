// SPDX-License-Identifier: Apache-2.0
// Arrays of values in the C API.
#pragma once

#include "api/check.h"
#include "api/handle.h"
#include "strategy/steps/replica.h"

#include <string>
#include <utility>
#include <vector>

namespace mdist {

/// Returns the values of `count` handles. Throws for a bad handle, and for NULL instead of an array or handle.
std::vector<ValuePointer> values_of(mdist_value_t *const *handles, std::size_t count, const char *name);

/// The values of many handles, which stay alive as long as this.
class PinnedValues {
  public:
    /// Throws as values_of() does.
    PinnedValues(mdist_value_t *const *handles, std::size_t count, const char *name);
    const std::vector<const Value *> &all() const { return values_; }

  private:
    std::vector<Pinned<Value>> pins_;
    std::vector<const Value *> values_;
};

/// Like values_of(), but returns nullptr for a NULL handle.
std::vector<ValuePointer> values_or_none(mdist_value_t *const *handles, std::size_t count, const char *name);

/// Checks what a caller's function made for one replica: a plain value or a structure of plain values, with whole
/// tensors. Throws CALLBACK for anything else; `who` begins the sentence.
Part part_made(const Value &made, const std::string &who);

/// Copies a tensor that a step hands over to the device of its replica. Throws INVALID_ARGUMENT if the tensor has no
/// data.
Tensor copy_for(const Replica &replica, const mdist_tensor_t *tensor);
/// Collects a replica's arguments for a merge: copies of its tensors on its device, or the leaves that it set at paths.
std::vector<Part> merge_arguments(Replica &replica, const mdist_tensor_t *arguments, std::size_t count);
/// Describes what the last merge gave this replica: `count` tensors, with zeros for structures and missing results.
void describe_merged(Replica &replica, mdist_tensor_t *results, std::size_t count);

/// Makes a handle for each value, NULL for nullptr. Makes all handles or, if this throws, none.
std::vector<mdist_value_t *> publish_values(std::vector<ValuePointer> values);

/// Gives up its handles at the end.
class ValueHandles {
  public:
    explicit ValueHandles(std::vector<mdist_value_t *> handles) : handles_(std::move(handles)) {}
    ~ValueHandles() {
        for (mdist_value_t *handle : handles_) retire(handle);
    }
    ValueHandles(const ValueHandles &) = delete;
    ValueHandles &operator=(const ValueHandles &) = delete;
    mdist_value_t *const *get() const { return handles_.data(); }
    mdist_value_t **get() { return handles_.data(); }

  private:
    std::vector<mdist_value_t *> handles_;
};

} // namespace mdist
