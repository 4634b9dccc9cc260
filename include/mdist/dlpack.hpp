// SPDX-License-Identifier: Apache-2.0
// DLPack: tensors of other libraries, without copies. Include <dlpack/dlpack.h> to look inside.
#pragma once

#include <mdist/value.hpp>

namespace mdist {

namespace detail {

inline Value from_dlpack(const mdist_dlpack_t &managed) {
    mdist_value_t *out = nullptr;
    call(mdist_value_from_dlpack, &managed, &out);
    return Value(out);
}
inline mdist_dlpack_t to_dlpack(const Value &value, size_t index, uint32_t max_major) {
    mdist_dlpack_t out{};
    call(mdist_value_to_dlpack, value.get(), index, max_major, &out);
    return out;
}
inline Buffer dlpack_buffer(const mdist_dlpack_t &managed) {
    mdist_buffer_t out{};
    call(mdist_buffer_from_dlpack, &managed, &out);
    return Buffer(out);
}

} // namespace detail

// Makes a value around a tensor of another library. On success the library owns `managed`.
inline Value from_dlpack(DLManagedTensor *managed) {
    return detail::from_dlpack({managed, nullptr});
}
inline Value from_dlpack(DLManagedTensorVersioned *managed) {
    return detail::from_dlpack({nullptr, managed});
}

// Exports a tensor of a value. The caller, or who takes it, calls its deleter.
inline DLManagedTensor *to_dlpack(const Value &value, size_t index = 0) {
    return detail::to_dlpack(value, index, 0).plain;
}
inline DLManagedTensorVersioned *to_dlpack_versioned(const Value &value, size_t index = 0) {
    return detail::to_dlpack(value, index, 1).versioned;
}

// A dense tensor as a buffer, whatever the order of its strides, for all_reduce, reduce_to_root and broadcast.
// `managed` stays the caller's, and keeps the memory.
inline Buffer dlpack_buffer(const DLManagedTensor *managed) {
    return detail::dlpack_buffer({const_cast<DLManagedTensor *>(managed), nullptr});
}
inline Buffer dlpack_buffer(const DLManagedTensorVersioned *managed) {
    return detail::dlpack_buffer({nullptr, const_cast<DLManagedTensorVersioned *>(managed)});
}

} // namespace mdist
