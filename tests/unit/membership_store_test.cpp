// SPDX-License-Identifier: Apache-2.0
// The store and its lobby, one event at a time.
#include "membership_support.h"

#include "comm/membership/peers.h"
#include "comm/membership/store.h"
#include "util/log.h"
#include "util/text.h"

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint64_t kSecond = 1'000'000'000;

struct Scene {
    explicit Scene(uint32_t size) : store(world, StoreOptions{size, 2, "job", ""}) {}

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
                 const std::string &agreement = "a = 1\n") {
        Visitor guest = visitor(id);
        const Caller caller(hello_of(rank, size, restart), SessionId{}, "");
        guest.say(caller.hello(guest.channel));
        guest.listen();
        if (guest.heard.empty() || !prove) return guest;
        const std::string body = PayloadWriter().number(uint16_t{5000}).text(agreement).take();
        guest.say(caller.answer(guest.channel, guest.heard.back(), body, "it"));
        return guest;
    }
    void pass(uint64_t ns) {
        world.now += ns;
        store.tick();
    }

    FakeWorld world;
    Store store;
};

void the_roster_comes_when_all_are_there_and_go_when_all_are_connected(void **) {
    Scene scene(2);
    Visitor one = scene.join(1, 1, 2);
    scene.pass(kSecond);
    assert_int_equal(one.last(), FrameKind::kProgress);
    assert_string_equal(scene.store.progress().c_str(), "1 of 2 workers have joined; missing: 0");
    Visitor zero = scene.join(2, 0, 2);
    assert_int_equal(one.last(), FrameKind::kRoster);
    assert_int_equal(zero.last(), FrameKind::kRoster);
    const SessionId session = zero.heard.back().session;
    assert_true(session == one.heard.back().session && session != SessionId{});
    PayloadReader roster(zero.heard.back().payload);
    assert_string_equal(roster.text().c_str(), "10.0.0.2"); // rank 0
    assert_int_equal(roster.number<uint16_t>(), 5000);
    assert_string_equal(roster.text().c_str(), "10.0.0.1");
    one.say(one.channel.pack(FrameKind::kMeshed, session, {}));
    assert_int_equal(one.last(), FrameKind::kRoster);
    zero.say(zero.channel.pack(FrameKind::kMeshed, session, {}));
    assert_int_equal(one.last(), FrameKind::kGo);
    assert_int_equal(zero.last(), FrameKind::kGo);

    Visitor late = scene.join(3, 1, 2);
    assert_int_equal(late.last(), FrameKind::kRefused);
    assert_string_equal(decode_failure(late.heard.back().payload)->reason().c_str(), "stale_session");
    scene.store.closed(2, 0); // the session is over, so the next is gathered
    assert_int_equal(one.last(), FrameKind::kOver);
    assert_int_equal(scene.join(4, 1, 2).last(), FrameKind::kChallenge);
    assert_int_equal(scene.store.joined(), 1);
}

void a_worker_that_goes_before_go_sends_all_back(void **) {
    Scene scene(2);
    Visitor zero = scene.join(1, 0, 2), one = scene.join(2, 1, 2);
    const SessionId first = (zero.listen(), zero.heard.back().session);
    scene.store.closed(2, 0);
    assert_int_equal(zero.last(), FrameKind::kOver);
    Visitor again = scene.join(3, 0, 2), other = scene.join(4, 1, 2);
    assert_int_equal(other.last(), FrameKind::kRoster);
    assert_true(other.heard.back().session != first);
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
    assert_int_equal(scene.join(4, 2, 3).last(), FrameKind::kChallenge);
    assert_int_equal(scene.store.joined(), 2);
}

void the_silent_make_room_for_those_who_speak(void **) {
    Scene scene(2);
    for (ConnectionId id = 1; id <= 1000; ++id) scene.visitor(id);
    assert_int_equal(scene.world.closed.size(), 1000 - kMostGuests);
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

// ---- Peers

struct Pair {
    explicit Pair(uint64_t silence) {
        options.size = 2;
        options.heartbeat_timeout_ns = silence;
        Formed formed;
        formed.roster = {{"10.0.0.1", 1}, {"10.0.0.2", 2}};
        formed.peers.resize(2);
        formed.peers[1].connection = 7;
        formed.peers[1].channel.emplace(std::size_t{1} << 17);
        peers = std::make_unique<Peers>(world, options, std::move(formed));
    }
    void hear(FrameKind kind, const std::string &payload) {
        std::string_view rest(bytes = far.pack(kind, {}, payload));
        while (!rest.empty() && peers->has(7)) {
            const std::string_view piece = rest.substr(0, peers->wanted(7));
            rest.remove_prefix(piece.size());
            peers->received(7, piece);
        }
    }
    void run(uint64_t ns, uint64_t step) {
        for (const uint64_t end = world.now + ns; world.now < end;) {
            world.now += step;
            peers->tick();
        }
    }
    FakeWorld world;
    MembershipOptions options;
    std::unique_ptr<Peers> peers;
    Channel far{1000};
    std::string bytes;
};

void silence_is_a_loss_and_own_sleep_is_not(void **) {
    Pair pair(10 * kSecond);
    pair.run(9 * kSecond, kSecond / 10);
    assert_false(pair.peers->failure().has_value());
    pair.world.now += 100 * kSecond; // this process was stopped
    pair.peers->tick();
    assert_false(pair.peers->failure().has_value());
    pair.run(3 * kSecond, kSecond / 10);
    assert_true(pair.peers->failure().has_value());
    assert_int_equal(pair.peers->failure()->status(), MDIST_ERR_PEER_LOST);
    assert_int_equal(pair.peers->failure()->worker(), 1);
    assert_string_equal(pair.peers->failure()->message().c_str(),
                        "worker 1 (10.0.0.2:2) is lost: it has been silent for 10 s");
}

void heartbeats_keep_a_worker_and_say_how_far_it_is(void **) {
    Pair pair(kSecond);
    for (uint64_t i = 0; i < 100; ++i) {
        pair.hear(FrameKind::kHeartbeat, PayloadWriter().number(i).take());
        pair.run(kSecond / 2, kSecond / 20);
    }
    assert_false(pair.peers->failure().has_value());
    assert_int_equal(pair.peers->entered(1), 99);
}

void the_first_cause_stays_and_is_passed_on_once(void **) {
    Pair pair(kSecond);
    pair.hear(FrameKind::kAbort,
              PayloadWriter().number(uint64_t{0}).take() + encode(Failure(MDIST_ERR_MISMATCH, "first").worker(1)));
    pair.hear(FrameKind::kAbort,
              PayloadWriter().number(uint64_t{0}).take() + encode(Failure(MDIST_ERR_TIMEOUT, "second").worker(0)));
    pair.peers->fail(Failure(MDIST_ERR_CALLBACK, "third"));
    assert_string_equal(pair.peers->failure()->message().c_str(), "first");
    std::vector<ControlFrame> frames;
    feed_all(pair.far.reader, pair.world.sent[7], &frames);
    assert_int_equal(std::count_if(frames.begin(), frames.end(),
                                   [](const ControlFrame &frame) { return frame.kind == FrameKind::kAbort; }),
                     1);
}

void a_failure_of_the_next_operation_waits_until_it_is_entered(void **) {
    Pair pair(kSecond);
    pair.peers->set_entered(4);
    const Failure left = Failure(MDIST_ERR_PEER_LOST, "worker 2 has left").worker(2).reason("left");
    pair.hear(FrameKind::kAbort, PayloadWriter().number(uint64_t{5}).take() + encode(left));
    pair.peers->closed(7, 0);
    assert_false(pair.peers->failure().has_value());
    assert_true(pair.peers->set_entered(5));
    pair.peers->missed(5);
    assert_string_equal(pair.peers->failure()->message().c_str(), "worker 2 has left");
    assert_int_equal(pair.peers->failure()->worker(), 2);
}

void a_departure_matters_when_the_worker_is_needed(void **) {
    Pair pair(kSecond);
    pair.peers->set_entered(4);
    pair.hear(FrameKind::kGoodbye, PayloadWriter().number(uint64_t{4}).take());
    pair.peers->closed(7, 0);
    assert_false(pair.peers->failure().has_value());
    assert_false(pair.peers->set_entered(4));
    assert_true(pair.peers->set_entered(5));
    pair.peers->missed(5);
    assert_string_equal(pair.peers->failure()->reason().c_str(), "left");
}

void who_breaks_the_protocol_is_lost(void **) {
    for (int way = 0; way < 3; ++way) {
        Pair pair(kSecond);
        if (way == 0) pair.hear(FrameKind::kExchange, PayloadWriter().number(uint64_t{2}).text("x").take());
        if (way == 1) pair.hear(FrameKind::kRoster, "");
        if (way == 2) pair.hear(FrameKind::kExchange, "short");
        assert_true(pair.peers->failure().has_value());
        assert_int_equal(pair.peers->failure()->status(), MDIST_ERR_PEER_LOST);
        assert_int_equal(pair.world.closed.count(7), 1);
    }
}

} // namespace

int main() {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_roster_comes_when_all_are_there_and_go_when_all_are_connected),
        cmocka_unit_test(a_worker_that_goes_before_go_sends_all_back),
        cmocka_unit_test(restarts_are_told_apart),
        cmocka_unit_test(the_chief_decides_what_is_agreed_on),
        cmocka_unit_test(the_silent_make_room_for_those_who_speak),
        cmocka_unit_test(silence_is_a_loss_and_own_sleep_is_not),
        cmocka_unit_test(heartbeats_keep_a_worker_and_say_how_far_it_is),
        cmocka_unit_test(the_first_cause_stays_and_is_passed_on_once),
        cmocka_unit_test(a_failure_of_the_next_operation_waits_until_it_is_entered),
        cmocka_unit_test(a_departure_matters_when_the_worker_is_needed),
        cmocka_unit_test(who_breaks_the_protocol_is_lost),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
