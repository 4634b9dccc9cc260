// SPDX-License-Identifier: Apache-2.0
// Results: what a lambda returns are the results of the step or merge: none for void, N for a std::tuple of N, else
// one.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace mdist::detail {

template <typename Returned>
inline constexpr size_t result_count = 1;
template <>
inline constexpr size_t result_count<void> = 0;
template <typename... Parts>
inline constexpr size_t result_count<std::tuple<Parts...>> = sizeof...(Parts);

template <typename Returned>
inline constexpr bool is_tuple = false;
template <typename... Parts>
inline constexpr bool is_tuple<std::tuple<Parts...>> = true;

// Calls `function`, and then `take` with the index and each result.
template <typename Function, typename Take>
void for_each_result(Function function, Take take) {
    using Returned = std::invoke_result_t<Function>;
    if constexpr (std::is_void_v<Returned>) {
        function();
    } else if constexpr (is_tuple<Returned>) {
        auto take_all = [&](auto &&...results) {
            size_t index = 0;
            (take(index++, std::move(results)), ...);
        };
        std::apply(take_all, function());
    } else {
        take(size_t{0}, function());
    }
}

// What stands for Returned on the other side: nothing, an array, or one.
template <typename Returned, typename Result>
auto hand_over(std::array<Result, result_count<Returned>> results) {
    if constexpr (is_tuple<Returned>)
        return results;
    else if constexpr (!std::is_void_v<Returned>)
        return std::move(results[0]);
}

} // namespace mdist::detail
