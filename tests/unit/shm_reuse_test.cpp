// SPDX-License-Identifier: Apache-2.0
// How many bytes are written until the same memory is written again.
#include "comm/shm/reuse.h"
#include "random.h"
#include "subject.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using mdist::Reuse;

constexpr uint64_t kMiB = uint64_t{1} << 20;

const void *memory(uint64_t number) {
    return reinterpret_cast<const void *>(4096 * (number + 1)); // never read
}

void one_buffer_again_and_again_stays_as_small_as_it_is(void **) {
    Reuse reuse;
    for (int i = 0; i < 100; ++i) assert_int_equal(reuse.note(memory(1), 4 * kMiB), 4 * kMiB);
}

void buckets_count_as_the_whole(void **) {
    Reuse reuse;
    for (int round = 0; round < 3; ++round)
        for (uint64_t bucket = 0; bucket < 16; ++bucket) {
            const uint64_t written = reuse.note(memory(bucket), 4 * kMiB);
            assert_int_equal(written, round == 0 ? (bucket + 1) * 4 * kMiB : 64 * kMiB);
        }
}

/// The same number, from a list of everything.
uint64_t plain(const std::vector<std::pair<const void *, uint64_t>> &all, std::size_t most) {
    uint64_t written = all.back().second;
    for (std::size_t age = 1; age <= most && age < all.size(); ++age) {
        const auto &earlier = all[all.size() - 1 - age];
        if (earlier.first == all.back().first) break;
        written += earlier.second;
    }
    return written;
}

void random_buffers_count_as_in_a_list_of_all(void **) {
    std::mt19937 random(test_seed(7));
    for (const uint32_t buffers : {1u, 2u, 5u, 31u, 32u, 33u, 34u, 100u}) {
        Reuse reuse;
        std::vector<std::pair<const void *, uint64_t>> all;
        for (int i = 0; i < 500; ++i) {
            all.emplace_back(memory(random() % buffers), random() % kMiB);
            assert_int_equal(reuse.note(all.back().first, all.back().second), plain(all, 32));
        }
    }
}

} // namespace

SUBJECT(shm_reuse) {
    const CMUnitTest tests[] = {cmocka_unit_test(one_buffer_again_and_again_stays_as_small_as_it_is),
                                cmocka_unit_test(buckets_count_as_the_whole),
                                cmocka_unit_test(random_buffers_count_as_in_a_list_of_all)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
