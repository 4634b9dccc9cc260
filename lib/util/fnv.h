// SPDX-License-Identifier: Apache-2.0
// FNV-1a (Fowler, Noll, Vo), 64 bits: a hash for values that workers compare, since every build computes the same. Not
// for input that an adversary chooses.
#pragma once

#include <cstdint>
#include <string_view>

namespace mdist {

constexpr uint64_t fnv1a(std::string_view bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return hash;
}

} // namespace mdist
