// SPDX-License-Identifier: Apache-2.0
// Values crossing the edge by the array.
#pragma once

#include "api/check.h"
#include "api/handle.h"
#include "strategy/replica.h"

#include <string>
#include <utility>
#include <vector>

namespace mdist {

/// The values of `count` handles; throws for NULL where there should be some, and for a bad handle.
std::vector<ValuePointer> values_of(mdist_value_t *const *handles, std::size_t count, const char *name);

/// The same, but NULL handles give nullptr.
std::vector<ValuePointer> values_or_none(mdist_value_t *const *handles, std::size_t count, const char *name);

/// What a function of the caller's made for one replica: a plain value, or a structure of such, of whole tensors.
/// Throws CALLBACK for another; `who` begins the sentence.
Part part_made(const Value &made, const std::string &who);

/// A copy of what a step hands over, on the device of its replica. Throws INVALID_ARGUMENT unless it is filled.
Tensor copy_for(const Replica &replica, const mdist_tensor_t *tensor);
/// What a replica gives a merge: copies of its tensors on its device, and what was set at paths instead.
std::vector<Part> merge_arguments(Replica &replica, const mdist_tensor_t *arguments, std::size_t count);
/// What the last merge gave this replica: `count` tensors, zeros for structures and what was left alone.
void describe_merged(const Replica &replica, mdist_tensor_t *results, std::size_t count);

/// A handle for each value, NULL for nullptr; all or, if this throws, none.
std::vector<mdist_value_t *> publish_values(const std::vector<ValuePointer> &values);

/// The same into a caller's array of as many.
void hand_out(const std::vector<ValuePointer> &values, mdist_value_t **out);

/// Gives its handles up at the end.
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
