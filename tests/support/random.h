// SPDX-License-Identifier: Apache-2.0
// Where random tests begin, how much they do, and how they draw. The same commit draws the same cases in every run.
//
// MDIST_TEST_SEED=N takes another seed. A test that takes one seed after another then takes N alone, or as many as
// MDIST_TEST_COUNT says. MDIST_TEST_TIER=long asks for more of everything.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_HELPER static inline __attribute__((unused))

/// Returns what MDIST_TEST_NAME says. A worker of multi.c reads it from TEST_NAME, since the library would warn of a key
/// MDIST_... that it does not know.
RANDOM_HELPER const char *asked_for(const char *name) {
    const char *const asked = getenv(name);
    return asked != NULL ? asked : getenv(name + strlen("MDIST_"));
}

/// Tells whether this is the long tier.
RANDOM_HELPER int is_long(void) {
    const char *const tier = asked_for("MDIST_TEST_TIER");
    return tier != NULL && strcmp(tier, "long") == 0;
}

/// Returns `full` in the long tier, otherwise `quick`.
RANDOM_HELPER uint32_t tiered(uint32_t quick, uint32_t full) {
    return is_long() ? full : quick;
}

/// Returns the seed that the environment asks for, or else the usual one, and prints it.
RANDOM_HELPER uint64_t test_seed(uint64_t usual) {
    static uint64_t printed = UINT64_MAX; // what several threads and cases ask for is printed once
    const char *const given = asked_for("MDIST_TEST_SEED"), *const rank = getenv("MDIST_RANK");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : usual;
    if (__atomic_exchange_n(&printed, seed, __ATOMIC_RELAXED) == seed) return seed;
    if (rank != NULL && strcmp(rank, "0") != 0) return seed; // the first worker has printed it
    printf("# seed %llu; MDIST_TEST_SEED=... takes another\n", (unsigned long long)seed);
    fflush(stdout); // a child of this process would print it again
    return seed;
}

/// Returns how many seeds to take: so many in this tier, unless the environment asks for a seed or a number of them.
RANDOM_HELPER uint32_t seed_count(uint32_t quick, uint32_t full) {
    const char *const asked = asked_for("MDIST_TEST_COUNT");
    if (asked != NULL) return (uint32_t)strtoul(asked, NULL, 0);
    return asked_for("MDIST_TEST_SEED") != NULL ? 1 : tiered(quick, full);
}

/// Returns the bits of a number in disorder. (splitmix64)
RANDOM_HELPER uint64_t mixed_bits(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/// The same of two numbers.
RANDOM_HELPER uint64_t mixed_pair(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/// Draws a number below `below`. Any state will do as the first one.
RANDOM_HELPER uint32_t draw_from(uint64_t *state, uint64_t below) {
    const uint64_t bits = mixed_bits(*state);
    *state += 0x9e3779b97f4a7c15u;
    return (uint32_t)((bits >> 32) % below);
}

#ifdef __cplusplus
/// The seeds that a test takes: for (const uint32_t seed : seeds(300, 3000)).
class Seeds {
  public:
    class Iterator {
      public:
        explicit Iterator(uint32_t seed) : seed_(seed) {}
        uint32_t operator*() const { return seed_; }
        Iterator &operator++() { return ++seed_, *this; }
        bool operator!=(const Iterator &other) const { return seed_ != other.seed_; }

      private:
        uint32_t seed_;
    };

    Seeds(uint32_t first, uint32_t count) : first_(first), count_(count) {}
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return Iterator(first_ + count_); }
    uint32_t count() const { return count_; }

  private:
    uint32_t first_, count_;
};

inline Seeds seeds(uint32_t quick, uint32_t full, uint32_t first = 0) {
    return {static_cast<uint32_t>(test_seed(first)), seed_count(quick, full)};
}
#endif
