// SPDX-License-Identifier: Apache-2.0
// The arena allocates memory of a segment, and makes regions in it.
#include "shm_support.h"

#include "comm/shm/arena.h"
#include "device/region.h"
#include "subject.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<bool> refuse_populating = false; // the next time
std::atomic<std::size_t> populated_bytes = 0;

} // namespace

/// In place of the C library's: counts what is given memory, and refuses it if asked to.
extern "C" int madvise(void *address, std::size_t bytes, int advice) noexcept {
    constexpr int kPopulateWrite = 23; // MADV_POPULATE_WRITE, which the headers may not have
    if (advice == kPopulateWrite) {
        if (refuse_populating.exchange(false)) return errno = ENOMEM, -1;
        populated_bytes += bytes;
    }
    return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

namespace {

using namespace mdist;
using namespace mdist::test;

struct Fixture {
    ShmMates mates{0, 1, test_sizes(1), 1};
    std::shared_ptr<ShmArena> arena = ShmArena::of(mates);
};

bool all(const char *data, std::size_t bytes, char value) {
    return std::all_of(data, data + bytes, [&](char byte) { return byte == value; });
}

void blocks_are_aligned_zero_and_apart_whatever_was_there_before(void **) {
    Fixture fixture;
    const std::size_t all_free = fixture.arena->free_bytes();
    std::mt19937 engine(test_seed(1));
    struct Block {
        Memory memory;
        std::size_t bytes;
        char value;
    };
    std::vector<Block> blocks;
    for (uint32_t i = 0; i < tiered(3000, 30000); ++i) {
        if (!blocks.empty() && engine() % 2 == 0) {
            std::swap(blocks[engine() % blocks.size()], blocks.back());
            const Block &last = blocks.back();
            assert_true(all(static_cast<char *>(last.memory.get()), last.bytes, last.value));
            blocks.pop_back();
            continue;
        }
        const std::size_t sizes[] = {0, 1, 64, 1000, 65535, 65536, 100'000, 1 << 20, 3 << 20};
        const std::size_t bytes = sizes[engine() % 9] + engine() % 100;
        const Memory memory = fixture.arena->allocate(bytes);
        assert_int_equal(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0);
        assert_true(all(static_cast<char *>(memory.get()), bytes, 0));
        assert_true(fixture.mates.arena_offset(memory.get(), bytes).has_value());
        const char value = static_cast<char>(engine());
        std::memset(memory.get(), value, bytes);
        blocks.push_back({memory, bytes, value});
        if (blocks.size() > 40) blocks.erase(blocks.begin());
    }
    blocks.clear();
    assert_int_equal(fixture.arena->free_bytes(), all_free);
}

void too_much_is_out_of_memory_and_changes_nothing(void **) {
    Fixture fixture;
    const std::size_t all_free = fixture.arena->free_bytes();
    for (const std::size_t bytes : {kTestArena + 1, SIZE_MAX, SIZE_MAX - 100}) {
        mdist_status_t status = MDIST_OK;
        try {
            fixture.arena->allocate(bytes);
        } catch (const Failure &failure) {
            status = failure.status();
        }
        assert_int_equal(status, MDIST_ERR_OUT_OF_MEMORY);
    }
    assert_int_equal(fixture.arena->free_bytes(), all_free);
}

void a_shortage_leaves_no_memory_behind_that_is_not_there(void **) {
    Fixture fixture;
    const std::size_t all_free = fixture.arena->free_bytes();
    refuse_populating = true;
    mdist_status_t status = MDIST_OK;
    try {
        fixture.arena->allocate(100'000);
    } catch (const Failure &failure) {
        status = failure.status();
    }
    assert_false(refuse_populating);
    assert_int_equal(status, MDIST_ERR_OUT_OF_MEMORY);
    assert_int_equal(fixture.arena->free_bytes(), all_free);
    populated_bytes = 0;
    const Memory memory = fixture.arena->allocate(100'000); // the same place
    assert_true(populated_bytes >= 100'000);
    assert_true(all(static_cast<char *>(memory.get()), 100'000, 0));
}

void memory_outlives_everything_that_made_it(void **) {
    Memory memory;
    {
        Fixture fixture;
        memory = fixture.arena->allocate(1000);
    }
    std::memset(memory.get(), 1, 1000);
    assert_true(all(static_cast<char *>(memory.get()), 1000, 1));
}

void addresses_outside_are_not_in_the_arena(void **) {
    Fixture fixture;
    const Memory memory = fixture.arena->allocate(100);
    char *const begin = static_cast<char *>(memory.get());
    int local = 0;
    assert_false(fixture.mates.arena_offset(&local, sizeof local).has_value());
    assert_false(fixture.mates.arena_offset(nullptr, 0).has_value());
    assert_false(fixture.mates.arena_offset(begin, kTestArena + 1).has_value());
    assert_false(fixture.mates.arena_offset(&fixture.mates.own(), 8).has_value());
    const uint64_t offset = *fixture.mates.arena_offset(begin, 100);
    assert_ptr_equal(fixture.mates.arena_address(0, offset, 100), begin);
    assert_null(fixture.mates.arena_address(0, 0, 8));
    assert_null(fixture.mates.arena_address(0, offset, SIZE_MAX));
    assert_null(fixture.mates.arena_address(0, UINT64_MAX, 8));
}

void a_region_in_the_arena_grows_without_moving_and_is_zero(void **) {
    ShmSizes sizes = test_sizes(1);
    sizes.arena_bytes = uint64_t{64} << 30; // address space
    ShmMates mates(0, 1, sizes, 1);
    const auto arena = ShmArena::of(mates);
    if (!arena) skip(); // no such address space here
    const std::size_t all_free = arena->free_bytes();
    {
        Region region(arena);
        char *const base = region.base();
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{5'000'000}, std::size_t{20'000'000}}) {
            region.commit(bytes);
            assert_ptr_equal(region.base(), base);
            assert_true(mates.arena_offset(base, bytes).has_value());
            assert_int_equal(base[bytes - 1], 0);
            std::memset(base, 1, bytes);
        }
    }
    assert_int_equal(arena->free_bytes(), all_free);
    Region again(arena);
    again.commit(20'000'000);
    assert_true(all(again.base(), 20'000'000, 0));
}

void a_region_that_finds_no_room_in_the_arena_lies_elsewhere(void **) {
    Fixture fixture; // too small for regions
    Region region(fixture.arena);
    region.commit(1000);
    assert_false(fixture.mates.arena_offset(region.base(), 1000).has_value());
    std::memset(region.base(), 1, 1000);
}

void a_worker_whose_limits_are_tight_has_a_smaller_arena_or_none(void **) {
    assert_well(run_processes(1, [](Board &, uint32_t) -> std::string {
        const rlimit limit = {uint64_t{160} << 20, uint64_t{160} << 20};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "no limit could be set";
        Fixture fixture;
        if (!fixture.arena) return "no arena";
        if (fixture.mates.layout().sizes().arena_bytes >= kTestArena) return "the arena is as large as ever";
        fixture.arena->allocate(1'000'000);
        return "";
    }));
}

} // namespace

SUBJECT(shm_arena) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_shortage_leaves_no_memory_behind_that_is_not_there),
        cmocka_unit_test(a_worker_whose_limits_are_tight_has_a_smaller_arena_or_none),
        cmocka_unit_test(blocks_are_aligned_zero_and_apart_whatever_was_there_before),
        cmocka_unit_test(too_much_is_out_of_memory_and_changes_nothing),
        cmocka_unit_test(memory_outlives_everything_that_made_it),
        cmocka_unit_test(addresses_outside_are_not_in_the_arena),
        cmocka_unit_test(a_region_in_the_arena_grows_without_moving_and_is_zero),
        cmocka_unit_test(a_region_that_finds_no_room_in_the_arena_lies_elsewhere),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
