// SPDX-License-Identifier: Apache-2.0
// Random: random numbers that depend only on their key, not on the platform, standard library or thread. The library
// promises that a seed always gives the same order, so neither the constants nor the steps may change.
//
// xoshiro256** (Blackman and Vigna 2018) with its state filled by SplitMix64 (Steele, Lea and Flood 2014) from a hash
// of the key. For one thread at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace mdist {

class Random {
  public:
    /// Keys that differ anywhere give unrelated sequences.
    explicit Random(std::initializer_list<uint64_t> key) {
        uint64_t hash = 0;
        for (const uint64_t part : key) hash = scrambled(hash + kGolden) ^ scrambled(part + 2 * kGolden);
        for (uint64_t &word : state_) word = scrambled(hash += kGolden);
    }

    uint64_t next() {
        const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Draws a number from 0 to bound - 1, each equally likely. `bound` is at least 1. The number is the high half of a
    /// product; the few low halves that would favour some numbers are drawn again (Lemire 2019).
    uint64_t below(uint64_t bound) {
        Wide product = static_cast<Wide>(next()) * bound;
        if (static_cast<uint64_t>(product) < bound) {
            const uint64_t uneven = (0 - bound) % bound; // 2^64 mod bound
            while (static_cast<uint64_t>(product) < uneven) product = static_cast<Wide>(next()) * bound;
        }
        return static_cast<uint64_t>(product >> 64);
    }

  private:
    __extension__ using Wide = unsigned __int128;
    static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15; // 2^64 / golden ratio, odd

    /// The finisher of SplitMix64: a bijection in which each output bit depends on all input bits.
    static uint64_t scrambled(uint64_t word) {
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
        word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
        return word ^ (word >> 31);
    }

    uint64_t state_[4];
};

} // namespace mdist
