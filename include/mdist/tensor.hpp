// SPDX-License-Identifier: Apache-2.0
// Span, tensors and buffers: typed views of memory that own nothing.
//
// A Tensor is the C struct with constructors. It can be made from contiguous memory (vectors, arrays, spans; one
// dimension), from a single number (no dimensions), or with a shape. Use Tensor for memory that is written and
// ConstTensor for memory that is read, and likewise Buffer and ConstBuffer. Functions take them by value, so you can
// pass a vector directly.
#pragma once

#include <mdist/mdist.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <mdist/error.hpp>

namespace mdist {

namespace detail {

template <typename T>
constexpr mdist_dtype_t find_dtype() {
    if constexpr (std::is_same_v<T, float>) return MDIST_FLOAT32;
    if constexpr (std::is_same_v<T, double>) return MDIST_FLOAT64;
    if constexpr (std::is_same_v<T, bool>) return sizeof(bool) == 1 ? MDIST_BOOL : MDIST_DTYPE_NONE;
    if constexpr (!std::is_integral_v<T>) return MDIST_DTYPE_NONE;
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
        case 1:
            return is_signed ? MDIST_INT8 : MDIST_UINT8;
        case 2:
            return is_signed ? MDIST_INT16 : MDIST_UINT16;
        case 4:
            return is_signed ? MDIST_INT32 : MDIST_UINT32;
        case 8:
            return is_signed ? MDIST_INT64 : MDIST_UINT64;
        default:
            return MDIST_DTYPE_NONE;
    }
}

} // namespace detail

// The element type of T. For 16-bit floats of your own: template <> constexpr auto mdist::dtype_of<Half> =
// MDIST_FLOAT16;
template <typename T>
inline constexpr mdist_dtype_t dtype_of = detail::find_dtype<T>();

// A piece of memory, like std::span of C++20.
template <typename T>
class Span {
  public:
    using value_type = std::remove_cv_t<T>;

    constexpr Span() noexcept = default;
    constexpr Span(T *data, size_t size) noexcept : data_(data), size_(size) {}
    template <typename Container, typename Pointer = decltype(std::data(std::declval<Container &>())),
              typename = std::enable_if_t<std::is_convertible_v<std::remove_pointer_t<Pointer> (*)[], T (*)[]>>>
    constexpr Span(Container &&container) : data_(std::data(container)), size_(std::size(container)) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](size_t index) const { return data_[index]; }
    constexpr Span subspan(size_t offset, size_t count) const { return {data_ + offset, count}; }

  private:
    T *data_ = nullptr;
    size_t size_ = 0;
};

namespace detail {

// The memory of an object: one number, or a container of numbers.
template <typename T>
std::enable_if_t<dtype_of<std::remove_cv_t<T>> != MDIST_DTYPE_NONE, Span<T>> memory_of(T &number) {
    return {&number, 1};
}
template <typename Container, typename T = std::remove_pointer_t<decltype(std::data(std::declval<Container &>()))>>
std::enable_if_t<dtype_of<std::remove_cv_t<T>> != MDIST_DTYPE_NONE, Span<T>> memory_of(Container &container) {
    return {std::data(container), std::size(container)};
}

// Checks that Data has memory that converts to Void *: `void *` for writing, `const void *` for reading.
template <typename Data, typename Void, typename Memory = decltype(memory_of(std::declval<Data &>()))>
using EnableIfMemory = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Memory>().data()), Void *>>;

template <typename Data>
using ElementOf = typename decltype(memory_of(std::declval<Data &>()))::value_type;

} // namespace detail

using Shape = std::initializer_list<uint64_t>;

// A Span of a temporary tensor stays valid: the memory is the strategy's or the caller's. gcc 14 warns there unless
// told so.
#if __has_cpp_attribute(gnu::no_dangling)
#define MDIST_NO_DANGLING [[gnu::no_dangling]]
#else
#define MDIST_NO_DANGLING
#endif

template <typename Void>
class BasicTensor : public mdist_tensor_t {
  public:
    template <typename Data, typename = detail::EnableIfMemory<Data, Void>>
    BasicTensor(Data &&source) : BasicTensor(dtype_of<detail::ElementOf<Data>>) {
        const auto memory = detail::memory_of(source);
        data = const_cast<void *>(static_cast<const void *>(memory.data()));
        if constexpr (dtype_of<std::decay_t<Data>> == MDIST_DTYPE_NONE) set_shape({memory.size()}); // else one number
    }

    template <typename Data, typename = detail::EnableIfMemory<Data, Void>>
    BasicTensor(Data &&source, Shape dimensions) : BasicTensor(std::forward<Data>(source)) {
        set_shape(dimensions);
        if (elements() != detail::memory_of(source).size())
            throw std::invalid_argument("a shape must have as many elements as there are in memory");
    }

    explicit BasicTensor(const mdist_tensor_t &tensor) : mdist_tensor_t(tensor) {}

    template <typename Other, typename = std::enable_if_t<std::is_same_v<Other, void> && std::is_const_v<Void>>>
    BasicTensor(const BasicTensor<Other> &writable) : mdist_tensor_t(writable) {}

    // A type and shape without memory. Use it for an initial value of zeros, or for a map's result, which may have
    // MDIST_UNKNOWN_LENGTH as its first dimension.
    template <typename T>
    static BasicTensor of(Shape dimensions) {
        BasicTensor result(dtype_of<T>);
        result.set_shape(dimensions);
        return result;
    }

    uint64_t elements() const noexcept { return mdist_tensor_elements(this); }

    // Its elements. Throws unless their type is T and they are in host memory. On a GPU, pass `data` to a kernel.
    template <typename T>
    MDIST_NO_DANGLING auto as() const {
        if (dtype != dtype_of<T>) {
            const auto name = [](int32_t type) { return mdist_dtype_name(static_cast<mdist_dtype_t>(type)); };
            throw std::invalid_argument(std::string("the tensor's elements are ") + name(dtype) + ", not " +
                                        name(dtype_of<T>));
        }
        if (device_kind != MDIST_DEVICE_CPU)
            throw std::invalid_argument("the tensor lies on gpu:" + std::to_string(device_index) +
                                        "; mdist_tensor_copy and fetch bring it to the host");
        using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;
        return Span<Element>(static_cast<Element *>(data), static_cast<size_t>(elements()));
    }

    // The only element.
    template <typename T>
    T item() const {
        const auto all = as<T>();
        if (all.size() != 1) throw std::invalid_argument("item() is for tensors of one element");
        return all[0];
    }

  private:
    explicit BasicTensor(mdist_dtype_t type) noexcept : mdist_tensor_t{} { dtype = type; }

    void set_shape(Shape dimensions) {
        if (dimensions.size() > MDIST_MAX_RANK) throw std::invalid_argument("a tensor has 8 dimensions at most");
        rank = static_cast<int32_t>(dimensions.size());
        std::copy(dimensions.begin(), dimensions.end(), shape);
    }
};
#undef MDIST_NO_DANGLING

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;

// Tensors that the library passes to a callback.
template <typename Void>
class BasicTensors {
  public:
    BasicTensors(const mdist_tensor_t *tensors, size_t count) noexcept : tensors_(tensors), count_(count) {}
    size_t size() const noexcept { return count_; }
    BasicTensor<Void> operator[](size_t index) const { return BasicTensor<Void>(tensors_[index]); }

  private:
    const mdist_tensor_t *tensors_;
    size_t count_;
};

using Tensors = BasicTensors<void>;
using ConstTensors = BasicTensors<const void>;

template <typename Void>
class BasicBuffer : public mdist_buffer_t {
  public:
    template <typename Data, typename = detail::EnableIfMemory<Data, Void>>
    BasicBuffer(Data &&source) : mdist_buffer_t{} {
        const auto memory = detail::memory_of(source);
        data = const_cast<void *>(static_cast<const void *>(memory.data()));
        elements = memory.size();
        dtype = dtype_of<detail::ElementOf<Data>>;
    }
    BasicBuffer(const BasicTensor<Void> &tensor) : mdist_buffer_t{tensor.data, tensor.elements(), tensor.dtype, 0} {}
    explicit BasicBuffer(const mdist_buffer_t &buffer) : mdist_buffer_t(buffer) {}
};

using Buffer = BasicBuffer<void>;
using ConstBuffer = BasicBuffer<const void>;

// One or more buffers of one fused operation: x, or {x, y, z}, or a vector of buffers.
template <typename Void>
class BasicBuffers {
  public:
    template <typename Data, typename = std::enable_if_t<std::is_convertible_v<Data &&, BasicBuffer<Void>>>>
    BasicBuffers(Data &&data) : one_(BasicBuffer<Void>(std::forward<Data>(data))), count_(1) {}
    BasicBuffers(std::initializer_list<BasicBuffer<Void>> list) : BasicBuffers(Span<const BasicBuffer<Void>>(list)) {}
    BasicBuffers(const std::vector<BasicBuffer<Void>> &list) : BasicBuffers(Span<const BasicBuffer<Void>>(list)) {}

    const mdist_buffer_t *data() const noexcept { return many_ ? many_ : &one_; }
    size_t size() const noexcept { return count_; }

  private:
    explicit BasicBuffers(Span<const BasicBuffer<Void>> list) : many_(list.data()), count_(list.size()) {}

    mdist_buffer_t one_{};
    const mdist_buffer_t *many_ = nullptr;
    size_t count_;
};

using Buffers = BasicBuffers<void>;
using ConstBuffers = BasicBuffers<const void>;

static_assert(sizeof(Tensor) == sizeof(mdist_tensor_t) && sizeof(Buffer) == sizeof(mdist_buffer_t),
              "arrays of these are handed to C");

} // namespace mdist
