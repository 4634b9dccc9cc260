// SPDX-License-Identifier: Apache-2.0
// What the compiler checks, and what typed views refuse.
#include <array>
#include <cstring>

#include "check.hpp"

namespace {

template <typename Class>
constexpr bool owns() {
    return !std::is_copy_constructible_v<Class> && !std::is_copy_assignable_v<Class> &&
           std::is_nothrow_move_constructible_v<Class> && std::is_nothrow_move_assignable_v<Class> &&
           std::is_nothrow_destructible_v<Class>;
}

static_assert(owns<mdist::Config>() && owns<mdist::Strategy>() && owns<mdist::Value>() && owns<mdist::Variable>());
static_assert(owns<mdist::Dataset>() && owns<mdist::Iterator>() && owns<mdist::Work<mdist::Vector<float>>>());
static_assert(std::is_nothrow_copy_constructible_v<mdist::Error>);

using Writable = std::vector<float>;
using ReadOnly = const std::vector<float>;
static_assert(std::is_constructible_v<mdist::Buffer, Writable &> &&
              !std::is_constructible_v<mdist::Buffer, ReadOnly &>);
static_assert(std::is_constructible_v<mdist::ConstBuffer, ReadOnly &>);
static_assert(!std::is_constructible_v<mdist::Tensor, ReadOnly &>);
static_assert(std::is_convertible_v<mdist::Tensor, mdist::ConstTensor>);
static_assert(!std::is_convertible_v<mdist::ConstTensor, mdist::Tensor>);
static_assert(!std::is_constructible_v<mdist::ConstTensor, const std::vector<bool> &>);
static_assert(!std::is_constructible_v<mdist::ConstTensor, const std::vector<std::string> &>);

static_assert(mdist::dtype_of<float> == MDIST_FLOAT32 && mdist::dtype_of<double> == MDIST_FLOAT64);
static_assert(mdist::dtype_of<unsigned char> == MDIST_UINT8 && mdist::dtype_of<signed char> == MDIST_INT8);
static_assert(mdist::dtype_of<int> == MDIST_INT32 && mdist::dtype_of<unsigned> == MDIST_UINT32);
static_assert(mdist::dtype_of<long long> == MDIST_INT64 && mdist::dtype_of<size_t> == MDIST_UINT64);
static_assert(mdist::dtype_of<bool> == MDIST_BOOL && mdist::dtype_of<int16_t> == MDIST_INT16);

} // namespace

void check_types() {
    check("a tensor has the shape and the type of what it is made from", [] {
        float number = 3;
        std::array<int32_t, 6> many{};
        require(mdist::Tensor(number).rank == 0 && mdist::Tensor(number).dtype == MDIST_FLOAT32, "a number");
        require(mdist::Tensor(many).rank == 1 && mdist::Tensor(many).shape[0] == 6, "an array");
        const mdist::Tensor matrix(many, {2, 3});
        require(matrix.rank == 2 && matrix.shape[1] == 3 && matrix.as<int32_t>().data() == many.data(), "a matrix");
    });
    check("a wrong shape, type or number of elements is refused", [] {
        const std::vector<float> six(6);
        thrown_by<std::invalid_argument>([&] { mdist::ConstTensor(six, {2, 2}); });
        const auto error = thrown_by<std::invalid_argument>([&] { mdist::ConstTensor(six).as<int32_t>(); });
        require(std::strstr(error.what(), "float32, not int32"), error.what());
        thrown_by<std::invalid_argument>([&] { mdist::ConstTensor(six).item<float>(); });
    });
    check("elements that the host cannot touch are refused", [] {
        mdist_tensor_t there{};
        there.dtype = MDIST_FLOAT32;
        there.device_kind = MDIST_DEVICE_GPU;
        there.device_index = 1;
        const auto error = thrown_by<std::invalid_argument>([&] { mdist::ConstTensor(there).item<float>(); });
        require(std::strstr(error.what(), "lies on gpu:1"), error.what());
    });
    check("a config gives back what was set, and text longer than most", [] {
        const std::string devices = "cpu*7";
        require(mdist::Config().set("devices", devices).get("devices") == devices, "devices");
        require(mdist::Config().load_text("communication: {timeout: 30s}").get("communication.timeout") == "30s",
                "YAML");
    });
    check("a value copies, and a wrapped one keeps the container's own memory", [] {
        mdist::Vector<float> numbers(1000, 2.0f);
        const float *const memory = numbers.data();
        require(mdist::Value(numbers).tensor().data != memory, "the copy is none");
        const auto wrapped = mdist::Value::wrap(std::move(numbers), {10, 100});
        require(wrapped.tensor().data == memory && wrapped.tensor().shape[1] == 100, "another memory");
    });
    check("memory of the library lies at multiples of 64 bytes", [] {
        for (size_t size = 1; size < 1000; size += 7) {
            const mdist::Vector<char> memory(size);
            require(reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0, std::to_string(size) + " bytes");
        }
    });
    check("too much memory is std::bad_alloc", [] {
        thrown_by<std::bad_alloc>([] { mdist::Allocator<double>().allocate(SIZE_MAX / 8 + 2); }); // bytes wrap to 8
        thrown_by<std::bad_alloc>([] { mdist::Allocator<double>().allocate(SIZE_MAX / 16); });
    });
}
