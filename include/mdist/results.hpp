// SPDX-License-Identifier: Apache-2.0
// Results: turns what a lambda returns into the results of its step or merge: none for void, N for a std::tuple of N,
// else one.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace mdist::detail {

template <typename Returned>
inline constexpr std::size_t result_count = 1;
template <>
inline constexpr std::size_t result_count<void> = 0;
template <typename... Parts>
inline constexpr std::size_t result_count<std::tuple<Parts...>> = sizeof...(Parts);

template <typename Returned>
inline constexpr bool is_tuple = false;
template <typename... Parts>
inline constexpr bool is_tuple<std::tuple<Parts...>> = true;

// Calls `function`, and then `take` with the index and value of each result.
template <typename Function, typename Take>
void for_each_result(Function function, Take take) {
    using Returned = std::invoke_result_t<Function>;
    if constexpr (std::is_void_v<Returned>) {
        function();
    } else if constexpr (is_tuple<Returned>) {
        auto take_all = [&](auto &&...results) {
            std::size_t index = 0;
            (take(index++, std::move(results)), ...);
        };
        std::apply(take_all, function());
    } else {
        take(std::size_t{0}, function());
    }
}

// What the caller gets for the results: nothing, a std::array of Result, or one Result, each made from a handle.
template <typename Returned, typename Result, typename Handle>
auto make_results(const std::array<Handle, result_count<Returned>> &handles) {
    if constexpr (is_tuple<Returned>) {
        const auto make = [](const auto &...each) { return std::array<Result, sizeof...(each)>{Result(each)...}; };
        return std::apply(make, handles);
    } else if constexpr (!std::is_void_v<Returned>) {
        return Result(handles[0]);
    }
}

} // namespace mdist::detail
