// SPDX-License-Identifier: Apache-2.0
// The group under whatever order threads, failures and the end of everything can come in. Calls are heap objects that
// are torn up the moment their party may, so that a peer that reads one too late is found by its garbage, and by the
// address sanitizer.
#include "comm_support.h"
#include "strategy/job/call_functions.h"
#include "subject.h"

namespace {

using namespace mdist;

/// What one party does at one point of a step.
enum class Act { kMeet, kMeetAndFinish, kDisagree, kRelease, kLeave };

struct Script {
    uint32_t parties;
    std::size_t length;
    uint32_t odd_party; // does something else at `odd_point`, if that lies in the step
    std::size_t odd_point;
    Act odd_act;
    bool finishing; // the calls of this step end in finish()
    bool fail_from_outside;
    bool release_from_outside;
    uint64_t delay; // of the one outside, in turns of a loop

    explicit Script(std::mt19937_64 &random)
        : parties(1 + static_cast<uint32_t>(random() % 5)),
          length(1 + random() % 6),
          odd_party(static_cast<uint32_t>(random() % parties)),
          odd_point(random() % (2 * length)),
          odd_act(static_cast<Act>(2 + random() % 3)),
          finishing(random() % 2 == 0),
          fail_from_outside(random() % 4 == 0),
          release_from_outside(random() % 4 == 0),
          delay(random() % 3000) {}

    Act at(uint32_t party, std::size_t point) const {
        if (party == odd_party && point == odd_point && parties > 1) return odd_act;
        return finishing ? Act::kMeetAndFinish : Act::kMeet;
    }
};

struct Outcome {
    std::size_t met = 0; // meetings that went well
    std::optional<Failure> failure;
    bool bad_peer = false;
};

/// One step of one party, as a replica does it: up to the first failure, then depart.
void play(Group &group, const Script &script, uint32_t party, Outcome &outcome) {
    for (std::size_t point = 0; point < script.length && !outcome.failure; ++point) {
        const Act act = script.at(party, point);
        if (act == Act::kLeave) break;
        if (act == Act::kRelease) {
            group.release(Failure(MDIST_ERR_CALLBACK, "the odd party gave up").replica(party));
            break;
        }
        const uint64_t subject = act == Act::kDisagree ? 1000 + point : point;
        const auto owned = std::make_unique<OwnedCall>(&calls::kAllReduce, subject, 1 + point % 3);
        try {
            group.meet(party, owned->call, kNoTimeout);
            ++outcome.met;
            if (!script.finishing) continue;
            for (uint32_t other = 0; other < group.parties(); ++other)
                outcome.bad_peer |= !same_call(owned->call, group.call_of(other));
            group.work().fetch_add(1);
            group.finish();
        } catch (const Failure &failure) {
            outcome.failure = failure;
            group.release(failure); // as the edge does
        }
    }
    group.depart(party);
}

void play_step(Group &group, const Script &script, std::vector<Outcome> &outcomes) {
    std::atomic<uint32_t> ready{0};
    std::vector<std::thread> threads;
    for (uint32_t party = 0; party < script.parties; ++party)
        threads.emplace_back([&, party] {
            ++ready;
            while (ready != script.parties) std::this_thread::yield();
            play(group, script, party, outcomes[party]);
        });
    volatile uint64_t turns = 0;
    while (turns < script.delay) turns = turns + 1;
    if (script.release_from_outside) group.release(Failure(MDIST_ERR_CALLBACK, "released from outside"));
    if (script.fail_from_outside) group.fail(Failure(MDIST_ERR_ABORTED, "failed from outside"));
    for (std::thread &thread : threads) thread.join();
}

void check_alike(const Script &script, const std::vector<Outcome> &outcomes) {
    const bool odd = script.odd_point < script.length && script.parties > 1;
    const bool disturbed = script.fail_from_outside || script.release_from_outside;
    for (uint32_t party = 0; party < script.parties; ++party) {
        const Outcome &outcome = outcomes[party];
        assert_false(outcome.bad_peer);
        // A meeting went well for all or for nobody.
        assert_int_equal(outcome.met, outcomes[0].met);
        if (!disturbed) assert_int_equal(outcome.met, odd ? script.odd_point : script.length);
        const bool gave_up = odd && party == script.odd_party && script.odd_act != Act::kDisagree;
        if (!odd && !disturbed) assert_false(outcome.failure.has_value());
        if (!odd || gave_up || disturbed) continue;
        assert_true(outcome.failure.has_value());
        // Who waits for one that left is told why; who comes later, that the step has failed.
        const mdist_status_t status = outcome.failure->status();
        if (script.odd_act != Act::kDisagree && status == MDIST_ERR_ABORTED) continue;
        assert_int_equal(status, MDIST_ERR_MISMATCH);
        assert_int_not_equal(script.odd_act, Act::kRelease);
        if (script.odd_act == Act::kDisagree) assert_string_equal(outcome.failure->what(), outcomes[0].failure->what());
    }
}

void no_order_of_events_hangs_or_splits_a_group(void **) {
    std::mt19937_64 random(test_seed(20240719));
    const std::size_t count = tiered(400, 4000);
    for (std::size_t i = 0; i < count; ++i) {
        const Script first(random);
        Group group(first.parties, Patience::for_threads(first.parties, i % 2 == 0 ? 64 : 1), kNoTimeout);
        // The same group through several steps: what a step left behind must not touch the next.
        for (int step = 0; step < 4 && !group.failed(); ++step) {
            Script script(random);
            script.parties = first.parties;
            script.odd_party %= script.parties;
            std::vector<Outcome> outcomes(script.parties);
            play_step(group, script, outcomes);
            check_alike(script, outcomes);
            group.reset();
            assert_int_equal(group.failed(), script.fail_from_outside);
            assert_int_equal(group.cause().has_value(), script.fail_from_outside);
        }
    }
}

/// Parties that all wait for very little, so that deadlines and completions fall together.
void a_timeout_at_the_last_moment_is_a_timeout_for_all_or_none(void **) {
    constexpr uint32_t kParties = 3;
    const std::size_t count = tiered(300, 5000);
    for (std::size_t i = 0; i < count; ++i) {
        Group group(kParties, Patience(), kNoTimeout);
        std::size_t met[kParties] = {};
        std::vector<std::thread> threads;
        for (uint32_t party = 0; party < kParties; ++party)
            threads.emplace_back([&, party] {
                try {
                    for (std::size_t point = 0; point < 20; ++point) {
                        const auto owned = std::make_unique<OwnedCall>(&calls::kBarrier, point, 1);
                        group.meet(party, owned->call, 1000 * (1 + (i + party) % 100));
                        ++met[party];
                        if (point % 2 == 0) group.finish();
                    }
                } catch (const Failure &) {
                }
                group.depart(party);
            });
        for (std::thread &thread : threads) thread.join();
        assert_int_equal(met[1], met[0]);
        assert_int_equal(met[2], met[0]);
        assert_int_equal(group.failed(), met[0] != 20);
    }
}

void the_end_of_everything_during_collectives_leaves_nobody_behind(void **) {
    constexpr uint32_t kParties = 3;
    const std::size_t count = tiered(300, 3000);
    for (std::size_t i = 0; i < count; ++i) {
        Group group(kParties, Patience::for_threads(kParties, i % 2 == 0 ? 8 : 1), kNoTimeout);
        Executors executors(group);
        std::atomic<uint64_t> done{0};
        std::vector<std::thread> threads;
        std::size_t met[kParties] = {};
        for (uint32_t party = 0; party < kParties; ++party)
            threads.emplace_back([&, party] {
                std::vector<float> data(3000, 1.0f);
                const mdist_buffer_t buffer = {data.data(), data.size(), MDIST_FLOAT32, 0};
                Call call;
                call.kind = &calls::kAllReduce;
                call.op = MDIST_MAX;
                call.inputs = call.outputs = &buffer;
                call.buffer_count = 1;
                try {
                    for (;; ++met[party], ++done) perform_collective(executors, party, call, 0);
                } catch (const Failure &) {
                }
                group.depart(party);
            });
        while (done < i % 40) std::this_thread::yield();
        group.fail(Failure(MDIST_ERR_ABORTED, "enough"));
        for (std::thread &thread : threads) thread.join();
        assert_int_equal(met[1], met[0]);
        assert_int_equal(met[2], met[0]);
    }
}

/// What a slower party may still be reading: the pieces of the last round that was complete.
void a_party_that_comes_again_after_giving_up_leaves_the_last_round_alone(void **) {
    Group group(2, Patience{}, kNoTimeout);
    Executors executors(group);
    float numbers[2] = {1, 2};
    const auto reduce = [&](uint32_t party) {
        const mdist_buffer_t buffer = {&numbers[party], 1, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = call.outputs = &buffer;
        call.buffer_count = 1;
        try {
            perform_collective(executors, party, call, 0);
        } catch (const Failure &) {
            return false;
        }
        return true;
    };
    const uint64_t last = group.next_round(0);
    std::thread other([&] { reduce(1); });
    const bool first = reduce(0);
    other.join();
    float staged = 0;
    std::memcpy(&staged, group.stage(0, last), sizeof staged);

    bool waited = true;
    std::thread gives_up([&] { waited = reduce(0); }); // alone, until the step is over
    while (group.next_round(0) != last + 2) std::this_thread::yield();
    group.release(Failure(MDIST_ERR_CALLBACK, "the step of replica 1 returned 7"));
    gives_up.join();
    numbers[0] = 77;
    const bool again = reduce(0);
    float after = 0;
    std::memcpy(&after, group.stage(0, last), sizeof after);
    assert_true(first);
    assert_false(waited);
    assert_false(again);
    assert_true(staged == 1 && after == 1);
}

/// Meets on as many threads as there are calls; a party without one departs. Returns what each party met with.
std::vector<std::optional<Failure>> meet_once(Group &group, const std::vector<const Call *> &calls,
                                              uint64_t timeout_ns) {
    std::vector<std::optional<Failure>> failures(calls.size());
    std::vector<std::thread> threads;
    for (uint32_t party = 0; party < calls.size(); ++party)
        threads.emplace_back([&, party] {
            try {
                if (calls[party] == nullptr) return group.depart(party);
                if (calls[party]->refusal != nullptr) group.refuse(*calls[party]->refusal);
                group.meet(party, *calls[party], timeout_ns);
            } catch (const Failure &failure) {
                failures[party] = failure;
            }
        });
    for (std::thread &thread : threads) thread.join();
    return failures;
}

void a_mismatch_names_what_most_parties_call(void **) {
    Call barrier, loss;
    barrier.kind = &calls::kBarrier;
    loss.kind = &calls::kAverageLoss;
    for (uint32_t odd = 0; odd < 3; ++odd) {
        Group group(3, Patience{}, kNoTimeout);
        std::vector<const Call *> calls(3, &barrier);
        calls[odd] = &loss;
        const std::string wanted =
            "replicas disagree in operation 1 of the step: 2 of 3 replicas called "
            "mdist_barrier(), replica " +
            std::to_string(odd) + " called mdist_average_loss()";
        for (const auto &failure : meet_once(group, calls, 0)) assert_string_equal(failure->what(), wanted.c_str());
    }
}

/// The refusal comes before the mismatch or timeout that follows from it, for the other workers, too.
void what_a_party_refuses_is_why_the_group_ends(void **) {
    const Failure why(MDIST_ERR_INVALID_ARGUMENT, "root is 7");
    const Call refusal = refusal_of("mdist_broadcast", why);
    Call barrier;
    barrier.kind = &calls::kBarrier;
    const Call *const others[] = {&barrier, nullptr};
    for (int i = 0; i < 3; ++i) {
        Group group(2, Patience{}, kNoTimeout);
        std::string told;
        group.join_job([&](const Failure &cause) { told = cause.message(); }, 0);
        std::vector<const Call *> calls = {&refusal};
        if (i < 2) calls.push_back(others[i]); // else nobody comes until the limit
        for (const auto &failure : meet_once(group, calls, i == 2 ? 1'000'000 : 0))
            if (failure) assert_int_equal(failure->status(), MDIST_ERR_ABORTED);
        assert_true(group.failed());
        assert_int_equal(group.cause()->status(), MDIST_ERR_INVALID_ARGUMENT);
        assert_string_equal(told.c_str(), "root is 7");
    }
}

void what_all_workers_refuse_ends_only_the_step(void **) {
    const Failure why(MDIST_ERR_INVALID_ARGUMENT, "root is 7");
    const Call refusal = refusal_of("mdist_broadcast", why);
    Call barrier;
    barrier.kind = &calls::kBarrier;
    Group group(2, Patience{}, kNoTimeout);
    std::atomic<bool> ended = false;
    group.join_job([&](const Failure &) { ended = true; }, 0);
    for (const auto &failure : meet_once(group, {&refusal, &refusal}, 0)) assert_false(failure.has_value());
    group.release_alike(why);
    group.release(Failure(MDIST_ERR_CALLBACK, "the step of replica 1 returned 7")); // since its call has failed
    for (const auto &failure : meet_once(group, {&barrier, &barrier}, 0))
        assert_string_equal(failure->reason().c_str(), "step_failed");
    assert_string_equal(group.cause()->what(), "root is 7");
    group.reset();
    for (const auto &failure : meet_once(group, {&barrier, &barrier}, 0)) assert_false(failure.has_value());
    assert_false(ended);
}

} // namespace

SUBJECT(comm_group) {
    mdist::log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(no_order_of_events_hangs_or_splits_a_group),
        cmocka_unit_test(a_timeout_at_the_last_moment_is_a_timeout_for_all_or_none),
        cmocka_unit_test(the_end_of_everything_during_collectives_leaves_nobody_behind),
        cmocka_unit_test(a_party_that_comes_again_after_giving_up_leaves_the_last_round_alone),
        cmocka_unit_test(a_mismatch_names_what_most_parties_call),
        cmocka_unit_test(what_a_party_refuses_is_why_the_group_ends),
        cmocka_unit_test(what_all_workers_refuse_ends_only_the_step),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
