// SPDX-License-Identifier: Apache-2.0
// DLPack: tensors of other libraries, without copies. Include <dlpack/dlpack.h> to look inside.
#pragma once

#include <mdist/value.hpp>

namespace mdist {

// Makes a value around a tensor of another library. On success the library owns `managed`.
inline Value from_dlpack(DLManagedTensor *managed) {
    mdist_value_t *out = nullptr;
    detail::call(mdist_value_from_dlpack, managed, &out);
    return Value(out);
}
inline Value from_dlpack(DLManagedTensorVersioned *managed) {
    mdist_value_t *out = nullptr;
    detail::call(mdist_value_from_dlpack_versioned, managed, &out);
    return Value(out);
}

// Exports a tensor of a value. The caller, or who takes it, calls its deleter.
inline DLManagedTensor *to_dlpack(const Value &value, size_t index = 0) {
    DLManagedTensor *out = nullptr;
    detail::call(mdist_value_to_dlpack, value.get(), index, &out);
    return out;
}
inline DLManagedTensorVersioned *to_dlpack_versioned(const Value &value, size_t index = 0) {
    DLManagedTensorVersioned *out = nullptr;
    detail::call(mdist_value_to_dlpack_versioned, value.get(), index, &out);
    return out;
}

// A dense tensor as a buffer, whatever the order of its strides, for all_reduce, reduce_to_root and broadcast.
// `managed` stays the caller's, and keeps the memory.
inline Buffer dlpack_buffer(const DLManagedTensor *managed) {
    mdist_buffer_t out{};
    detail::call(mdist_buffer_from_dlpack, managed, &out);
    return Buffer(out);
}
inline Buffer dlpack_buffer(const DLManagedTensorVersioned *managed) {
    mdist_buffer_t out{};
    detail::call(mdist_buffer_from_dlpack_versioned, managed, &out);
    return Buffer(out);
}

} // namespace mdist
