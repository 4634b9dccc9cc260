// SPDX-License-Identifier: Apache-2.0
// The handle table: ids resolve to their own object or to nothing, whatever threads do.
#include "api/handle.h"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <csetjmp>

extern "C" {
#include <cmocka.h>
}

#include "random.h"
#include "subject.h"
#include "util/failure.h"

namespace {

struct Number {
    explicit Number(uint64_t start) : value(start) { ++alive; }
    ~Number() {
        value = 0;
        --alive;
    }
    std::atomic<uint64_t> value;
    static inline std::atomic<int> alive = 0;
};

struct Seat {
    int id = 7;
};

} // namespace

// Objects of the test's own under public types of the test's own: the real ones have objects elsewhere.
struct test_number;
struct test_seat;

namespace mdist {
template <>
struct HandleTraits<test_number> {
    using Object = Number;
    static constexpr Kind kKind = Kind::kValue;
};
template <>
struct HandleTraits<test_seat> {
    using Object = Seat;
    static constexpr Kind kKind = Kind::kReplica;
};
} // namespace mdist

namespace {

using mdist::Failure;

template <class Public>
bool resolves(const Public *handle) {
    return static_cast<bool>(mdist::try_pin(handle));
}

template <class Public>
std::string refusal(const Public *handle) {
    try {
        mdist::pin(handle);
    } catch (const Failure &failure) {
        return failure.status() == MDIST_ERR_BAD_HANDLE ? failure.message() : "wrong status";
    }
    return "";
}

bool contains(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

test_number *forged(const test_number *handle, uint64_t flipped) {
    return reinterpret_cast<test_number *>(reinterpret_cast<uintptr_t>(handle) ^ flipped);
}

void a_handle_resolves_to_its_object(void **) {
    auto *handle = mdist::publish<test_number>(std::make_shared<Number>(42));
    assert_int_equal(mdist::pin(handle)->value, 42);
    assert_int_equal(mdist::pin(handle).shared()->value, 42);
    assert_int_equal(mdist::retire(handle)->value, 42);
    assert_int_equal(Number::alive, 0);
}

void a_handle_is_no_address_a_process_can_have(void **) {
    auto *handle = mdist::publish<test_number>(std::make_shared<Number>(1));
    const auto bits = reinterpret_cast<uintptr_t>(handle);
    // x86-64: bits 56 to 63 of an address are equal. 64-bit ARM: bits 52 to 55 of a user's address are zero.
    assert_true(((bits >> 56) & 0x80) != 0 && ((bits >> 56) & 1) == 0);
    assert_true(((bits >> 52) & 0xf) != 0);
    mdist::retire(handle);
}

void a_refusal_says_what_the_handle_is(void **) {
    auto *handle = mdist::publish<test_number>(std::make_shared<Number>(1));
    int local = 0;
    assert_string_equal(refusal<test_number>(nullptr).c_str(),
                        "expected a value handle, got NULL; a result that no step has set is NULL");
    assert_true(contains(refusal(reinterpret_cast<test_number *>(&local)), "never a handle"));
    assert_true(contains(refusal(reinterpret_cast<mdist_strategy_t *>(handle)), "got a value handle"));
    assert_true(contains(refusal(forged(handle, uint64_t{1} << 40)), "never a handle")); // a later generation
    assert_true(contains(refusal(forged(handle, 0xfff00)), "never a handle"));           // an index not in use
    mdist::retire(handle);
    assert_true(contains(refusal(handle), "a value that was destroyed"));
    assert_null(mdist::retire(handle).get());
    assert_false(resolves(handle));
}

void an_object_lives_until_its_last_pin(void **) {
    auto *handle = mdist::publish<test_number>(std::make_shared<Number>(5));
    {
        auto pinned = mdist::pin(handle);
        mdist::retire(handle);
        assert_int_equal(Number::alive, 1);
        assert_int_equal(pinned->value, 5);
        assert_true(contains(refusal(handle), "destroyed"));
    }
    assert_int_equal(Number::alive, 0);
}

void every_id_is_new(void **) {
    std::set<const void *> seen;
    for (uint64_t i = 0; i < 5000; ++i) {
        auto *handle = mdist::publish<test_number>(std::make_shared<Number>(i));
        assert_true(seen.insert(handle).second);
        mdist::retire(handle);
    }
    for (const void *old : seen) assert_false(resolves(static_cast<const test_number *>(old)));
}

void random_bits_never_resolve(void **) {
    std::mt19937_64 random(test_seed(1));
    auto *handle = mdist::publish<test_number>(std::make_shared<Number>(1));
    for (int i = 0; i < 100000; ++i) {
        const uint64_t bits = random();
        assert_false(resolves(reinterpret_cast<const test_number *>(bits)));
        const uint64_t flip = bits & (~uint64_t{0} >> bits % 64);
        if (flip != 0) assert_false(resolves(forged(handle, flip)));
    }
    assert_int_equal(mdist::retire(handle)->value, 1);
}

void a_full_table_is_a_resource_failure_and_recovers(void **) {
    std::vector<test_seat *> handles;
    const auto object = std::make_shared<Seat>();
    std::string reason;
    try {
        while (handles.size() < 2000000) handles.push_back(mdist::publish<test_seat>(object));
    } catch (const Failure &failure) {
        reason = failure.status() == MDIST_ERR_RESOURCE ? failure.reason() : "wrong status";
    }
    assert_string_equal(reason.c_str(), "too_many_handles");
    const long uses = object.use_count();
    assert_int_equal(uses, handles.size() + 1);
    // Some places are free again: for as many handles at once, and not for one more.
    constexpr std::size_t kFree = 50;
    for (std::size_t i = 0; i < kFree; ++i) {
        mdist::retire(handles.back());
        handles.pop_back();
    }
    reason = "none";
    try {
        std::vector<test_seat *> more(kFree + 1);
        mdist::publish_all(std::vector<std::shared_ptr<Seat>>(kFree + 1, object), more.data());
    } catch (const Failure &failure) {
        reason = failure.reason();
    }
    assert_string_equal(reason.c_str(), "too_many_handles");
    assert_int_equal(object.use_count(), handles.size() + 1);
    std::vector<test_seat *> together(kFree);
    mdist::publish_all(std::vector<std::shared_ptr<Seat>>(kFree, object), together.data());
    handles.insert(handles.end(), together.begin(), together.end());
    assert_int_equal(object.use_count(), handles.size() + 1);
    for (auto *handle : handles) mdist::retire(handle);
    assert_int_equal(object.use_count(), 1);
    mdist::retire(mdist::publish<test_seat>(object));
}

void handles_made_together_resolve(void **) {
    std::vector<std::shared_ptr<Number>> numbers = {std::make_shared<Number>(1), nullptr, std::make_shared<Number>(2)};
    test_number *handles[] = {nullptr, reinterpret_cast<test_number *>(&numbers), nullptr};
    mdist::publish_all(std::move(numbers), handles);
    assert_int_equal(Number::alive, 2);
    assert_null(handles[1]);
    assert_int_equal(mdist::pin(handles[0])->value, 1);
    assert_int_equal(mdist::pin(handles[2])->value, 2);
    mdist::retire(handles[0]);
    assert_false(resolves(handles[0]));
    assert_true(resolves(handles[2]));
    mdist::retire(handles[2]);
    assert_int_equal(Number::alive, 0);
}

void a_renewed_handle_leaves_the_old_one_stale(void **) {
    const auto replica = std::make_shared<Seat>();
    {
        mdist::Renewable<test_seat> slot(replica);
        auto *first = slot.renew();
        auto held = mdist::pin(first);
        auto *second = slot.renew();
        assert_ptr_not_equal(first, second);
        assert_true(contains(refusal(first), "a replica whose step has ended"));
        assert_int_equal(mdist::pin(second)->id, 7);
        slot.retire();
        slot.retire();
        assert_true(contains(refusal(second), "step has ended"));
        assert_int_equal(held->id, 7);
        auto *third = slot.renew();
        assert_int_equal(mdist::pin(third)->id, 7);
        assert_ptr_not_equal(second, third);
        const mdist::Renewable<test_seat> moved = std::move(slot);
        assert_true(resolves(third));
    }
    assert_int_equal(replica.use_count(), 1);
}

constexpr int kThreads = 4;
constexpr std::size_t kShared = 16;
constexpr int kRounds = 50000;

// Threads post objects under handles, retire each other's, and look up whatever they find, new or old. An object found
// must be whole (its number is 0 once destroyed), and a handle that was retired must stay so.
struct Hammer {
    std::array<std::atomic<test_number *>, kShared> posted = {};
    std::atomic<int> broken = 0;
    std::atomic<int> resurrected = 0;

    void run(uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<test_number *> dead;
        for (int i = 0; i < kRounds; ++i) {
            auto &place = posted[random() % kShared];
            switch (random() % 5) {
                case 4: {
                    std::vector<std::shared_ptr<Number>> numbers(3);
                    for (auto &number : numbers) number = std::make_shared<Number>(random() | 1);
                    test_number *fresh[3];
                    mdist::publish_all(std::move(numbers), fresh);
                    for (auto *handle : fresh) {
                        if (auto *old = posted[random() % kShared].exchange(handle)) {
                            mdist::retire(old);
                            dead.push_back(old);
                        }
                    }
                    break;
                }
                case 0: {
                    auto *fresh = mdist::publish<test_number>(std::make_shared<Number>(random() | 1));
                    if (auto *old = place.exchange(fresh)) {
                        mdist::retire(old);
                        dead.push_back(old);
                    }
                    break;
                }
                case 1:
                    if (auto *old = place.load()) {
                        mdist::retire(old);
                        dead.push_back(old);
                    }
                    break;
                case 2:
                    if (!dead.empty() && mdist::try_pin(dead[random() % dead.size()])) ++resurrected;
                    break;
                default:
                    if (auto pinned = mdist::try_pin(place.load()))
                        if (pinned->value == 0) ++broken;
            }
        }
    }
};

void four_threads_never_see_a_stale_object(void **) {
    const uint64_t seed = test_seed(1);
    Hammer hammer;
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; ++i) threads.emplace_back([&hammer, seed, i] { hammer.run(seed + i); });
    for (auto &thread : threads) thread.join();
    for (auto &place : hammer.posted) mdist::retire(place.load());
    assert_int_equal(hammer.broken, 0);
    assert_int_equal(hammer.resurrected, 0);
    assert_int_equal(Number::alive, 0);
}

void one_of_many_destroyers_gets_the_object(void **) {
    std::atomic<int> winners = 0;
    for (int round = 0; round < 200; ++round) {
        auto *handle = mdist::publish<test_number>(std::make_shared<Number>(3));
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i)
            threads.emplace_back([&winners, handle] {
                if (mdist::retire(handle)) ++winners;
            });
        for (auto &thread : threads) thread.join();
    }
    assert_int_equal(winners, 200);
    assert_int_equal(Number::alive, 0);
}

} // namespace

SUBJECT(handle) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_resolves_to_its_object),
        cmocka_unit_test(a_handle_is_no_address_a_process_can_have),
        cmocka_unit_test(a_refusal_says_what_the_handle_is),
        cmocka_unit_test(an_object_lives_until_its_last_pin),
        cmocka_unit_test(every_id_is_new),
        cmocka_unit_test(random_bits_never_resolve),
        cmocka_unit_test(a_full_table_is_a_resource_failure_and_recovers),
        cmocka_unit_test(handles_made_together_resolve),
        cmocka_unit_test(a_renewed_handle_leaves_the_old_one_stale),
        cmocka_unit_test(four_threads_never_see_a_stale_object),
        cmocka_unit_test(one_of_many_destroyers_gets_the_object),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
