// SPDX-License-Identifier: Apache-2.0
// Operator: a reduction of your own, for elements of any trivially copyable type.
//
//     const auto larger = mdist::Operator::of<Pair>("larger", [](const Pair &left, const Pair &right) {
//         return left.key >= right.key ? left : right;
//     });
//     replica.all_reduce(larger, bytes);           // in a step; `bytes` views whole Pairs
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <mdist/error.hpp>

namespace mdist {

// Pass it as an operation to all_reduce, reduce_scatter and reduce_to_root. It must outlive the runs that use it.
//
// - The function need be neither associative nor commutative. `left` comes from lower replica ids.
// - It runs on any thread, on several at the same time, and must not use the library. If it throws, the collective
//   throws an mdist::Error with the exception's words.
// - All replicas use operators of the same name and element size, whose functions do the same.
class Operator {
  public:
    template <typename T, typename Function>
    static Operator of(const std::string &name, Function function) {
        static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64, "elements travel as bytes");
        auto kept = std::make_shared<Function>(std::move(function));
        mdist_reduce_op_t op = {};
        detail::call(mdist_operator_register, name.c_str(), sizeof(T), &combine<T, Function>,
                     static_cast<void *>(kept.get()), &op);
        return Operator(op, std::move(kept));
    }
    Operator(Operator &&other) noexcept
        : op_(std::exchange(other.op_, mdist_reduce_op_t{})), kept_(std::move(other.kept_)) {}
    Operator &operator=(Operator &&other) noexcept {
        std::swap(op_, other.op_);
        std::swap(kept_, other.kept_);
        return *this;
    }
    ~Operator() { mdist_operator_unregister(op_); }

    operator mdist_reduce_op_t() const noexcept { return op_; }

  private:
    Operator(mdist_reduce_op_t op, std::shared_ptr<void> kept) noexcept : op_(op), kept_(std::move(kept)) {}

    template <typename T, typename Function>
    static int32_t combine(const void *left, const void *right, void *out, uint64_t count, void *kept) {
        try {
            const Function &function = *static_cast<const Function *>(kept);
            for (uint64_t i = 0; i < count; ++i)
                static_cast<T *>(out)[i] = function(static_cast<const T *>(left)[i], static_cast<const T *>(right)[i]);
            return 0;
        } catch (const std::exception &exception) {
            mdist_fail(0, exception.what());
        } catch (...) {
            mdist_fail(0, "an exception that is no std::exception");
        }
        return 1;
    }

    mdist_reduce_op_t op_;
    std::shared_ptr<void> kept_;
};

} // namespace mdist
