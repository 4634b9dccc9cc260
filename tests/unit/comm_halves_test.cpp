// SPDX-License-Identifier: Apache-2.0
// Meetings whose parties do not wait: arriving, asking, taking an arrival back, and drawing work, in every order.
#include "comm_support.h"
#include "strategy/job/call_functions.h"
#include "subject.h"

namespace {

using namespace mdist;

/// Every party comes to every point in its own way: it meets and waits, or arrives and asks again and again. Pieces of
/// work, one per party, are drawn in between. At one point one party may take its arrival back.
struct HalvesScript {
    uint32_t parties;
    std::size_t length;
    uint64_t seed;
    std::size_t withdraw_point; // nobody does if it is not in the step
    uint32_t withdraw_party;
    uint64_t withdraw_delay;
    bool fail_from_outside;
    uint64_t delay;

    explicit HalvesScript(std::mt19937_64 &random)
        : parties(1 + static_cast<uint32_t>(random() % 5)),
          length(1 + random() % 12),
          seed(random()),
          withdraw_point(random() % (2 * length)),
          withdraw_party(static_cast<uint32_t>(random() % parties)),
          withdraw_delay(random() % 300),
          fail_from_outside(random() % 6 == 0),
          delay(random() % 3000) {}

    bool withdraws(uint32_t party, std::size_t point) const {
        return party == withdraw_party && point == withdraw_point;
    }
    bool starts(uint32_t party, std::size_t point) const {
        return withdraws(party, point) || (seed * (party + 3) * (point * 2 + 5) >> 40) % 3 == 0;
    }
    bool anybody_starts(std::size_t point) const {
        for (uint32_t party = 0; party < parties; ++party)
            if (starts(party, point)) return true;
        return false;
    }
};

struct HalvesOutcome {
    std::size_t met = 0;
    bool withdrew = false;
    bool failed = false;
    const char *wrong = nullptr;
};

void turn_around(uint64_t times) {
    volatile uint64_t turns = 0;
    while (turns < times) turns = turns + 1;
}

/// One point of one party; false if it took its arrival back.
bool come_to(Group &group, const HalvesScript &script, uint32_t party, std::size_t point,
             std::vector<std::atomic<uint32_t>> &claims, HalvesOutcome &outcome) {
    const auto owned = std::make_unique<OwnedCall>(&calls::kAllReduce, point, 1 + point % 3);
    const uint32_t before = group.finishes();
    const bool starts = script.starts(party, point);
    if (starts) {
        const Group::Arrival arrival = group.arrive_started(party, owned->call);
        if (script.withdraws(party, point)) {
            turn_around(script.withdraw_delay);
            if (group.withdraw(arrival)) return false;
        }
        while (!group.met(arrival)) std::this_thread::yield();
    } else {
        group.meet(party, owned->call, kNoTimeout);
    }
    ++outcome.met;
    if (group.started() != script.anybody_starts(point)) outcome.wrong = "started() is not so";
    uint64_t done = 0;
    for (uint32_t i = 0; i < script.parties; ++i) {
        const uint32_t piece = (party + i) % script.parties;
        if (!group.claim(piece)) continue;
        if (!same_call(owned->call, group.call_of(piece))) outcome.wrong = "another call than its own";
        ++claims[point * script.parties + piece];
        ++done;
    }
    if (!starts) {
        group.finish_work(before, done, script.parties);
    } else {
        group.add_work(done, script.parties);
        while (group.finishes() == before) std::this_thread::yield();
    }
    for (uint32_t piece = 0; piece < script.parties; ++piece)
        if (claims[point * script.parties + piece] != 1) outcome.wrong = "a piece was not done once";
    return true;
}

void play_halves(Group &group, const HalvesScript &script, uint32_t party, std::vector<std::atomic<uint32_t>> &claims,
                 HalvesOutcome &outcome) {
    try {
        for (std::size_t point = 0; point < script.length; ++point) {
            if (come_to(group, script, party, point, claims, outcome)) continue;
            outcome.withdrew = true;
            group.release(Failure(MDIST_ERR_ABORTED, "given up").reason("work_destroyed"));
            break;
        }
    } catch (const Failure &) {
        outcome.failed = true;
    }
    group.depart(party);
}

void check_halves(const HalvesScript &script, const std::vector<HalvesOutcome> &outcomes) {
    bool withdrew = false;
    for (const HalvesOutcome &outcome : outcomes) withdrew = withdrew || outcome.withdrew;
    for (const HalvesOutcome &outcome : outcomes) {
        if (outcome.wrong != nullptr) print_error("%s\n", outcome.wrong);
        assert_null(outcome.wrong);
        assert_int_equal(outcome.met, outcomes[0].met); // all or nobody
        if (withdrew) assert_int_equal(outcome.met, script.withdraw_point);
        if (withdrew) assert_true(outcome.withdrew || outcome.failed);
        if (!withdrew && !script.fail_from_outside) assert_int_equal(outcome.met, script.length);
    }
}

void meetings_in_halves_are_meetings(void **) {
    std::mt19937_64 random(test_seed(20250611));
    const std::size_t count = tiered(500, 6000);
    std::size_t withdrawn = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const HalvesScript first(random);
        Group group(first.parties, Patience::for_threads(first.parties, i % 2 == 0 ? 64 : 1), kNoTimeout);
        for (int step = 0; step < 4 && !group.failed(); ++step) {
            HalvesScript script(random);
            script.parties = first.parties;
            script.withdraw_party %= script.parties;
            std::vector<HalvesOutcome> outcomes(script.parties);
            std::vector<std::atomic<uint32_t>> claims(script.parties * script.length);
            std::vector<std::thread> threads;
            for (uint32_t party = 0; party < script.parties; ++party)
                threads.emplace_back([&, party] { play_halves(group, script, party, claims, outcomes[party]); });
            turn_around(script.delay);
            if (script.fail_from_outside) group.fail(Failure(MDIST_ERR_ABORTED, "failed from outside"));
            for (std::thread &thread : threads) thread.join();
            check_halves(script, outcomes);
            for (const HalvesOutcome &outcome : outcomes) withdrawn += outcome.withdrew;
            group.reset();
        }
    }
    print_message("# %zu withdrawals\n", withdrawn);
    assert_true(withdrawn > count / 20);
}

/// What one thread can see of it, step by step.
void an_arrival_may_be_taken_back_until_all_have_come(void **) {
    Group group(2, Patience{}, kNoTimeout);
    const auto owned = std::make_unique<OwnedCall>(&calls::kBarrier, 1, 1);
    for (int again = 0; again < 3; ++again) {
        const Group::Arrival first = group.arrive_started(0, owned->call);
        assert_false(first.last);
        assert_false(group.met(first));
        assert_true(group.withdraw(first));
        const Group::Arrival second = group.arrive_started(0, owned->call); // nothing is left of the first
        group.meet(1, owned->call, kNoTimeout);
        assert_true(group.started());
        assert_false(group.withdraw(second));
        assert_true(group.met(second));
        assert_true(group.met(second));
    }
    // An arrival that was taken back leaves no mark on the next meeting, which nobody only starts.
    const Group::Arrival gone = group.arrive_started(1, owned->call);
    assert_true(group.withdraw(gone));
    std::thread other([&] { group.meet(1, owned->call, kNoTimeout); });
    group.meet(0, owned->call, kNoTimeout);
    other.join();
    assert_false(group.started());
    // Nor does one that came too late, to a group that was released.
    group.release(Failure(MDIST_ERR_CALLBACK, "over"));
    bool refused = false;
    try {
        group.arrive_started(0, owned->call);
    } catch (const Failure &failure) {
        refused = failure.status() == MDIST_ERR_ABORTED;
    }
    assert_true(refused);
    group.reset();
    std::thread third([&] { group.meet(1, owned->call, kNoTimeout); });
    group.meet(0, owned->call, kNoTimeout);
    third.join();
    assert_false(group.started());
}

} // namespace

SUBJECT(comm_halves) {
    mdist::log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(meetings_in_halves_are_meetings),
        cmocka_unit_test(an_arrival_may_be_taken_back_until_all_have_come),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
