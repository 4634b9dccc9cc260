// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/neighbors.h"

#include <algorithm>
#include <bit>

namespace mdist {
namespace {

/// In the tree, ranks count from the origin, as distances around the ring. A worker's parent has its number without the
/// highest bit.
uint32_t number_of(uint32_t origin, uint32_t rank, uint32_t size) {
    return rank >= origin ? rank - origin : size - origin + rank;
}

uint32_t rank_of(uint32_t origin, uint32_t number, uint32_t size) {
    return number < size - origin ? origin + number : number - (size - origin);
}

} // namespace

std::vector<uint32_t> neighbors_of(uint32_t rank, uint32_t size) {
    std::vector<uint32_t> ranks;
    for (uint64_t away = 1; away < size; away = connects_all(size) ? away + 1 : away * 2) {
        const auto number = static_cast<uint32_t>(away);
        ranks.push_back(rank_of(rank, number, size));
        ranks.push_back(rank_of(rank, size - number, size));
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

uint32_t parent_of(uint32_t origin, uint32_t rank, uint32_t size) {
    const uint32_t number = number_of(origin, rank, size);
    return connects_all(size) ? origin : rank_of(origin, number - std::bit_floor(number), size);
}

std::vector<uint32_t> children_of(uint32_t origin, uint32_t rank, uint32_t size) {
    if (connects_all(size)) return rank == origin ? neighbors_of(rank, size) : std::vector<uint32_t>();
    const uint32_t number = number_of(origin, rank, size);
    std::vector<uint32_t> ranks;
    for (uint64_t bit = uint64_t{1} << std::bit_width(number); number + bit < size; bit *= 2)
        ranks.push_back(rank_of(origin, static_cast<uint32_t>(number + bit), size));
    return ranks;
}

bool hears_through(uint32_t origin, uint32_t via, uint32_t rank, uint32_t size) {
    if (rank == via || via == origin) return true;
    if (connects_all(size)) return false;
    const uint32_t number = number_of(origin, via, size);
    return (number_of(origin, rank, size) & ((uint64_t{1} << std::bit_width(number)) - 1)) == number;
}

} // namespace mdist
