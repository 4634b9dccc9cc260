// SPDX-License-Identifier: Apache-2.0
// The store and its lobby, one event at a time.
#include "membership_support.h"

#include "membership/protocol/credentials.h"
#include "membership/store/fixed_store.h"
#include "subject.h"
#include "util/log.h"
#include "util/text.h"

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint64_t kSecond = 1'000'000'000;

struct Scene {
    explicit Scene(uint32_t size) : store(world, FixedStoreOptions{size, 2, "job", ""}) {}

    Visitor visitor(ConnectionId id) {
        store.accepted(id, text("10.0.0.", id));
        return Visitor{world, store, id};
    }
    static Hello hello_of(uint32_t rank, uint32_t size, uint32_t restart) {
        Hello hello;
        hello.rank = rank;
        hello.size = size;
        hello.restart = restart;
        hello.job = "job";
        return hello;
    }
    /// Greets as that worker and goes on if asked to.
    Visitor join(ConnectionId id, uint32_t rank, uint32_t size, uint32_t restart = 2, bool prove = true,
                 const std::string &agreement = "a = 1\n", const std::string &run = "") {
        Visitor guest = visitor(id);
        Caller caller(hello_of(rank, size, restart), SessionId{}, "");
        guest.say(caller.hello(guest.channel));
        guest.listen();
        if (guest.heard.empty() || !prove) return guest;
        const std::string body = join_body(agreement, run, static_cast<uint32_t>(70 + id));
        guest.say(caller.answer(guest.channel, guest.heard.back(), body, "it"));
        return guest;
    }
    void pass(uint64_t ns) {
        world.now += ns;
        store.tick();
    }

    FakeWorld world;
    FixedStore store;
};

void the_generation_comes_when_all_are_there_and_go_when_all_are_connected(void **) {
    Scene scene(2);
    Visitor one = scene.join(1, 1, 2);
    scene.pass(kSecond);
    assert_int_equal(one.last(), FrameKind::kProgress);
    assert_string_equal(scene.store.progress().c_str(), "1 of 2 workers have joined; missing: 0");
    Visitor zero = scene.join(2, 0, 2);
    assert_int_equal(one.last(), FrameKind::kGeneration);
    assert_int_equal(zero.last(), FrameKind::kGeneration);
    const SessionId session = zero.heard.back().session;
    assert_true(session == one.heard.back().session && session != SessionId{});
    const auto generation = decode_generation(zero.heard.back().payload);
    assert_int_equal(generation->members.size(), 2);
    const Generation::Member &first = generation->members[0];
    const Endpoint listens{"10.0.0.2", 5000, true, 72, MDIST_NONE}; // was not started as any rank
    assert_true(first.listens == listens && first.id == 1);
    assert_string_equal(generation->members[1].listens.host.c_str(), "10.0.0.1");
    one.say(one.channel.pack(FrameKind::kMeshed, session, {}));
    assert_int_equal(one.last(), FrameKind::kGeneration);
    zero.say(zero.channel.pack(FrameKind::kMeshed, session, {}));
    assert_int_equal(one.last(), FrameKind::kGo);
    assert_int_equal(zero.last(), FrameKind::kGo);

    Visitor late = scene.join(3, 1, 2);
    assert_int_equal(late.last(), FrameKind::kProof);
    scene.pass(kLateNs);
    assert_int_equal(late.last(), FrameKind::kRefused);
    assert_string_equal(decode_failure(late.heard.back().payload)->reason().c_str(), "stale_session");
    assert_int_equal(scene.store.first_gone(), MDIST_NONE);
    scene.store.closed(2, 0); // the session is over, so the next is gathered
    assert_int_equal(scene.store.first_gone(), MDIST_NONE);
    assert_int_equal(one.last(), FrameKind::kOver);
    assert_int_equal(scene.join(4, 1, 2).last(), FrameKind::kProof);
    assert_int_equal(scene.store.joined(), 1);
}

/// They may have left it already, and the end of their old connections comes after the new ones.
void who_comes_shortly_before_the_session_ends_is_in_the_next(void **) {
    Scene scene(2);
    scene.join(1, 0, 2);
    scene.join(2, 1, 2);
    Visitor zero = scene.join(3, 0, 2), third = scene.join(4, 2, 3), one = scene.join(5, 1, 2),
            many = scene.join(6, 1, 2);
    assert_int_equal(third.last(), FrameKind::kRefused); // it could not be in any
    assert_int_equal(many.last(), FrameKind::kRefused);  // there are two workers
    scene.pass(kLateNs - 1);
    assert_int_equal(zero.last(), FrameKind::kProof);
    scene.store.closed(2, 0);
    assert_int_equal(zero.last(), FrameKind::kGeneration);
    assert_int_equal(one.last(), FrameKind::kGeneration);
    scene.pass(kSecond);
    assert_int_equal(zero.last(), FrameKind::kGeneration); // nothing is left of their wait
}

void who_waits_for_the_next_session_can_go_and_may_not_speak(void **) {
    Scene scene(2);
    scene.join(1, 0, 2);
    scene.join(2, 1, 2);
    scene.join(3, 0, 2);
    scene.store.closed(3, 0);
    Visitor loud = scene.join(4, 1, 2);
    loud.say(loud.channel.pack(FrameKind::kMeshed, SessionId{}, {}));
    scene.store.closed(1, 0);
    assert_int_equal(scene.store.joined(), 0);
}

void who_waits_for_the_next_session_is_asked_again_after_a_restart(void **) {
    Scene scene(2);
    scene.join(1, 0, 2);
    scene.join(2, 1, 2);
    Visitor late = scene.join(3, 0, 2);
    scene.store.restart(2, 3);
    assert_int_equal(late.last(), FrameKind::kRefused);
    assert_int_equal(scene.store.joined(), 0);
}

void a_worker_that_goes_before_go_sends_all_back(void **) {
    Scene scene(2);
    Visitor zero = scene.join(1, 0, 2), one = scene.join(2, 1, 2);
    const SessionId first = (zero.listen(), zero.heard.back().session);
    scene.store.closed(2, 0);
    assert_int_equal(zero.last(), FrameKind::kOver);
    Visitor again = scene.join(3, 0, 2), other = scene.join(4, 1, 2);
    assert_int_equal(other.last(), FrameKind::kGeneration);
    assert_true(other.heard.back().session != first);
}

void the_first_that_leaves_is_remembered_until_the_next_session(void **) {
    Scene scene(2);
    Visitor zero = scene.join(1, 0, 2), one = scene.join(2, 1, 2);
    one.listen();
    one.say(one.channel.pack(FrameKind::kGoodbye, one.heard.back().session, {}));
    assert_int_equal(scene.store.first_gone(), 1);
    scene.join(3, 0, 2);
    assert_int_equal(scene.store.first_gone(), 1);
    scene.join(4, 1, 2);
    assert_int_equal(scene.store.first_gone(), MDIST_NONE);
}

void restarts_are_told_apart(void **) {
    Scene scene(2);
    Visitor old = scene.join(1, 0, 2, 1);
    assert_int_equal(old.last(), FrameKind::kRefused);
    assert_string_equal(decode_failure(old.heard.back().payload)->reason().c_str(), "stale_session");
    assert_int_equal(scene.join(2, 0, 2, 3).last(), FrameKind::kTryAgain);
    scene.store.restart(2, 3);
    Visitor now = scene.join(3, 0, 2, 3);
    scene.pass(kSecond);
    assert_int_equal(now.last(), FrameKind::kProgress);
}

void the_chief_decides_what_is_agreed_on(void **) {
    Scene scene(3);
    Visitor one = scene.join(1, 1, 3, 2, true, "a = 2\n");
    Visitor two = scene.join(2, 2, 3, 2, true, "a = 1\n");
    assert_int_equal(two.last(), FrameKind::kRefused);
    Visitor zero = scene.join(3, 0, 3, 2, true, "a = 1\n");
    assert_int_equal(one.last(), FrameKind::kRefused);
    assert_int_equal(scene.store.joined(), 1);
    assert_int_equal(scene.join(4, 2, 3).last(), FrameKind::kProof);
    assert_int_equal(scene.store.joined(), 2);
}

Failure refusal_of(Visitor &guest) {
    assert_int_equal(guest.last(), FrameKind::kRefused);
    return *decode_failure(guest.heard.back().payload);
}

void assert_names(const std::string &sentence, std::initializer_list<const char *> all) {
    for (const char *words : all)
        if (sentence.find(words) == std::string::npos) {
            print_error("no \"%s\" in: %s\n", words, sentence.c_str());
            assert_true(false);
        }
}

void two_runs_are_told_apart_by_what_both_say(void **) {
    Scene scene(3);
    const auto come = [&](ConnectionId id, uint32_t rank, const char *run) {
        return scene.join(id, rank, 3, 2, true, "a = 1\n", run);
    };
    come(1, 0, "SLURM_JOB_ID = 7\nuser id on n1 = 1000\n");
    Visitor other = come(2, 1, "SLURM_JOB_ID = 8\nuser id on n1 = 1000\n");
    const Failure refused = refusal_of(other);
    assert_string_equal(refused.reason().c_str(), "different_run");
    assert_names(refused.message(), {"worker 1 (10.0.0.2, pid 72)", "worker 0 (10.0.0.1, pid 71)", "SLURM_JOB_ID = 8",
                                     "SLURM_JOB_ID = 7", "port", "MDIST_JOB_ID"});
    assert_names(scene.store.progress(), {"1 (refused:", "SLURM_JOB_ID = 8"});
    Visitor user = come(3, 1, "user id on n1 = 1001\n");
    assert_string_equal(refusal_of(user).reason().c_str(), "different_run");
    come(4, 1, "SLURM_JOB_ID = 7\nuser id on n2 = 1001\n"); // on another host, users have other numbers
    Visitor two = come(5, 2, "");                           // says nothing
    assert_int_equal(two.last(), FrameKind::kGeneration);
}

void the_chief_decides_which_run_it_is(void **) {
    Scene scene(2);
    Visitor one = scene.join(1, 1, 2, 2, true, "a = 1\n", "PBS_JOBID = 8\n");
    scene.join(2, 0, 2, 2, true, "a = 1\n", "PBS_JOBID = 7\n");
    assert_string_equal(refusal_of(one).reason().c_str(), "different_run");
    assert_int_equal(scene.store.joined(), 1);
}

/// Nothing may tell two runs apart. Then the first that comes too late is told who was there.
void who_finds_its_rank_taken_is_told_by_whom(void **) {
    Scene scene(2);
    scene.join(1, 1, 2);
    Visitor twin = scene.join(2, 1, 2);
    assert_names(refusal_of(twin).message(), {"(10.0.0.1, pid 71)", "(10.0.0.2, pid 72)", "two runs", "port"});
    scene.join(3, 0, 2);
    Visitor late = scene.join(4, 1, 2);
    scene.pass(kLateNs);
    assert_names(refusal_of(late).message(), {"(10.0.0.1, pid 71)", "(10.0.0.4, pid 74)", "two runs", "port"});
}

/// A caller that cannot show the secret gives up by itself. The store must say why it is missing.
void a_lack_of_the_secret_is_a_reason(void **) {
    for (const char *secret : {"", "the right one of some length"}) {
        if (*secret != '\0' && !secrets_are_built()) continue;
        for (const char *theirs : {"", "a wrong one of the same length"}) {
            if (std::string_view(secret) == theirs || (*theirs != '\0' && !secrets_are_built())) continue;
            FakeWorld world;
            FixedStore store(world, FixedStoreOptions{2, 2, "job", secret});
            store.accepted(1, "10.0.0.9");
            Visitor guest{world, store, 1};
            Caller caller(Scene::hello_of(1, 2, 2), SessionId{}, store_key(theirs));
            guest.say(caller.hello(guest.channel));
            assert_int_equal(guest.last(), FrameKind::kChallenge);
            try {
                guest.say(caller.answer(guest.channel, guest.heard.back(), join_body("a = 1\n"), "it"));
            } catch (const Failure &) { // it has learned enough
            }
            const char *const why = *secret == '\0'   ? "has a secret, but the store has none"
                                    : *theirs == '\0' ? "has no secret, but the store has one"
                                                      : "has a different secret";
            assert_names(store.progress(), {"missing: 0, 1 (refused: ", "worker 1 at 10.0.0.9", why});
        }
    }
}

void the_silent_make_room_for_those_who_speak(void **) {
    Scene scene(2);
    for (ConnectionId id = 1; id <= 1000; ++id) scene.visitor(id);
    assert_int_equal(scene.world.closed.size(), 1000 - kMostGuests - 2);
    Visitor worker = scene.join(2000, 0, 2, 2, false);
    assert_int_equal(worker.last(), FrameKind::kChallenge);
    for (ConnectionId id = 3001; id <= 4000; ++id) scene.visitor(id);
    assert_int_equal(scene.world.closed.count(2000), 0);
    // Those who claim one rank a thousand times push out each other.
    for (ConnectionId id = 5001; id <= 6000; ++id) scene.join(id, 1, 2, 2, false);
    assert_int_equal(scene.world.closed.count(2000), 0);
    scene.pass(5 * kSecond);
    assert_int_equal(scene.world.closed.count(2000), 1);
    assert_int_equal(scene.world.closed.size(), 3001); // nobody is left
}

void a_worker_comes_in_however_many_ranks_strangers_claim(void **) {
    Scene scene(2);
    ConnectionId id = 0;
    const auto flood = [&](uint32_t first) {
        for (uint32_t i = 0; i < 200; ++i) scene.join(++id, first + i, 2, 2, false);
    };
    flood(2);
    Visitor silent = scene.visitor(5000); // its HELLO is on the way
    flood(300);
    assert_int_equal(scene.world.closed.count(5000), 0);
    Visitor greeted = scene.join(5001, 0, 2, 2, false);
    assert_int_equal(greeted.last(), FrameKind::kChallenge);
    flood(2);
    assert_int_equal(scene.world.closed.count(5001), 0);
    for (uint32_t i = 0; i < 200; ++i) scene.visitor(++id);
    assert_int_equal(scene.world.closed.count(5001), 0);
}

void who_comes_early_and_has_said_hello_is_not_silent(void **) {
    FakeWorld world;
    Lobby lobby(world, "worker 0", 0, 64);
    lobby.expect(2);
    const auto come = [&](ConnectionId id, const std::string &words) {
        lobby.accepted(id, "10.0.0.9");
        for (std::string_view rest = words; !rest.empty();) {
            const std::string_view piece = rest.substr(0, lobby.wanted(id));
            rest.remove_prefix(piece.size());
            lobby.received(id, piece);
        }
    };
    Hello hello = Scene::hello_of(1, 2, 2);
    hello.called = 0;
    Channel channel(1000);
    come(1, Caller(hello, SessionId{}, "").hello(channel));
    for (ConnectionId id = 2; id < 200; ++id) come(id, "");
    assert_int_equal(world.closed.count(1), 0);
    lobby.open_for("", SessionId{});
    assert_int_equal(world.sent.count(1), 1);
}

} // namespace

SUBJECT(membership_store) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_generation_comes_when_all_are_there_and_go_when_all_are_connected),
        cmocka_unit_test(who_comes_shortly_before_the_session_ends_is_in_the_next),
        cmocka_unit_test(who_waits_for_the_next_session_can_go_and_may_not_speak),
        cmocka_unit_test(who_waits_for_the_next_session_is_asked_again_after_a_restart),
        cmocka_unit_test(a_worker_that_goes_before_go_sends_all_back),
        cmocka_unit_test(the_first_that_leaves_is_remembered_until_the_next_session),
        cmocka_unit_test(restarts_are_told_apart),
        cmocka_unit_test(the_chief_decides_what_is_agreed_on),
        cmocka_unit_test(two_runs_are_told_apart_by_what_both_say),
        cmocka_unit_test(the_chief_decides_which_run_it_is),
        cmocka_unit_test(who_finds_its_rank_taken_is_told_by_whom),
        cmocka_unit_test(a_lack_of_the_secret_is_a_reason),
        cmocka_unit_test(the_silent_make_room_for_those_who_speak),
        cmocka_unit_test(a_worker_comes_in_however_many_ranks_strangers_claim),
        cmocka_unit_test(who_comes_early_and_has_said_hello_is_not_silent),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
