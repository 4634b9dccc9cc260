// SPDX-License-Identifier: Apache-2.0
// What strangers are told, what they can pass themselves off as, and what of them is logged.
#include "membership_support.h"

#include "membership/net/datagrams.h"
#include "membership/protocol/dialer.h"
#include "membership/protocol/lobby.h"
#include "membership/store/fixed_store.h"
#include "membership/worker/data_sockets.h"
#include "membership/worker/member.h"
#include "subject.h"
#include "util/log.h"
#include "util/text.h"

#include <cstring>
#include <memory>

#include <sys/epoll.h>

namespace {

using namespace mdist;
using namespace mdist::test;

Hello hello_to(uint32_t called, Role role, uint32_t rank) {
    Hello hello;
    hello.role = role;
    hello.rank = rank;
    hello.called = called;
    hello.size = 2;
    hello.job = "job";
    return hello;
}

/// Calls, greets and proves itself without a key, as far as it gets.
Visitor visit(FakeWorld &world, Store &store, ConnectionId id, const Hello &hello, const std::string &agreement) {
    store.accepted(id, "10.0.0.9");
    Visitor guest{world, store, id};
    Caller caller(hello, SessionId{}, "");
    guest.say(caller.hello(guest.channel));
    if (guest.last() != FrameKind::kChallenge) return guest;
    const std::string body = join_body(agreement);
    guest.say(caller.answer(guest.channel, guest.heard.back(), body, "it"));
    guest.listen();
    return guest;
}

void a_refusal_names_no_session_no_other_job_and_no_setting(void **) {
    FakeWorld world;
    FixedStore store(world, FixedStoreOptions{2, 0, "job", ""});
    const std::string agreement = "a = 1\nb = 2\n";
    Hello other = hello_to(kStoreRank, Role::kJoin, 1);
    other.job += "x";
    Visitor stranger = visit(world, store, 1, other, agreement);
    assert_int_equal(stranger.last(), FrameKind::kRefused);
    assert_null(std::strstr(decode_failure(stranger.heard.back().payload)->message().c_str(), "\"job\""));

    Visitor zero = visit(world, store, 2, hello_to(kStoreRank, Role::kJoin, 0), agreement);
    Visitor differs = visit(world, store, 3, hello_to(kStoreRank, Role::kJoin, 1), "a = 3\n");
    const std::string words = decode_failure(differs.heard.back().payload)->message();
    assert_non_null(std::strstr(words.c_str(), "\"a = 1\" there, \"a = 3\" here"));
    assert_null(std::strstr(words.c_str(), "b = 2"));

    Visitor one = visit(world, store, 4, hello_to(kStoreRank, Role::kJoin, 1), agreement);
    assert_int_equal(one.last(), FrameKind::kGeneration);
    assert_true(one.heard.back().session != SessionId{});
    Visitor late = visit(world, store, 5, hello_to(kStoreRank, Role::kJoin, 1), agreement);
    world.now += kLateNs;
    store.tick();
    assert_int_equal(late.last(), FrameKind::kRefused);
    for (const ControlFrame &frame : late.heard) assert_true(frame.session == SessionId{});
}

void a_worker_tells_no_stranger_its_session(void **) {
    FakeWorld world;
    Lobby lobby(world, "worker 0", 0, 64);
    SessionId session = {};
    session[3] = 9;
    lobby.open_for("", session);
    lobby.accepted(1, "10.0.0.9");
    Channel channel(1 << 16);
    std::string_view words;
    const std::string hello = Caller(hello_to(0, Role::kData, 1), SessionId{}, "").hello(channel);
    for (words = hello; !words.empty();) {
        const std::string_view piece = words.substr(0, lobby.wanted(1));
        words.remove_prefix(piece.size());
        lobby.received(1, piece);
    }
    std::vector<ControlFrame> heard;
    feed_all(channel.reader, world.sent[1], &heard);
    assert_int_equal(heard.at(0).kind, FrameKind::kRefused);
    assert_true(heard.at(0).session == SessionId{});
    assert_string_equal(decode_failure(heard.at(0).payload)->reason().c_str(), "stale_session");
}

/// A dialer that has said HELLO to somebody, with that key.
struct Call {
    explicit Call(const std::string &key) {
        Dial dial;
        dial.to = {{"10.0.0.1", 1}};
        dial.who = "the store";
        dial.hello = hello_to(kStoreRank, Role::kJoin, 1);
        dial.key = key;
        dial.most_payload = 1000;
        dialer = std::make_unique<Dialer>(world, std::move(dial));
        dialer->tick();
        dialer->connected();
    }
    /// What the dialer passes on of this.
    std::optional<ControlFrame> hear(FrameKind kind, const std::string &payload, uint8_t version = kProtocolVersion) {
        Channel channel(1000);
        std::string bytes = channel.pack(kind, {}, payload);
        bytes[kVersionAt] = static_cast<char>(version);
        std::optional<ControlFrame> frame;
        for (std::string_view rest = bytes; !rest.empty() && dialer->connection() != 0;) {
            const std::string_view piece = rest.substr(0, dialer->channel().reader.wanted());
            rest.remove_prefix(piece.size());
            frame = dialer->received(piece);
        }
        return frame;
    }
    FakeWorld world;
    std::unique_ptr<Dialer> dialer;
};

void who_answers_and_proves_nothing_can_only_refuse(void **) {
    for (const bool challenged : {false, true}) {
        for (const std::string key : {"", "key"}) {
            if (!key.empty() && !secrets_are_built()) continue;
            const std::string challenge =
                PayloadWriter().number(static_cast<uint8_t>(!key.empty())).bytes(Digest{}).take();
            for (const FrameKind kind : {FrameKind::kGeneration, FrameKind::kWelcome, FrameKind::kGo}) {
                Call call(key);
                if (challenged) assert_false(call.hear(FrameKind::kChallenge, challenge).has_value());
                assert_false(call.hear(kind, "").has_value());
                assert_int_equal(call.dialer->connection(), 0);
            }
            Call call(key);
            if (challenged) assert_false(call.hear(FrameKind::kChallenge, challenge).has_value());
            assert_true(call.hear(FrameKind::kRefused, "").has_value());
        }
    }
}

void who_answers_in_another_version_is_told_apart(void **) {
    Call call("");
    std::optional<Failure> failure;
    try {
        call.hear(FrameKind::kRefused, "", kProtocolVersion + 1);
    } catch (const Failure &caught) {
        failure = caught;
    }
    assert_true(failure.has_value());
    assert_int_equal(failure->status(), MDIST_ERR_CONFIG);
    assert_string_equal(failure->reason().c_str(), "different_version");
    const std::string numbers =
        text("version ", kProtocolVersion + 1, " of the protocol between workers, but this worker speaks version ",
             kProtocolVersion);
    assert_non_null(std::strstr(failure->message().c_str(), numbers.c_str()));
}

void who_has_proved_itself_may_wait_long_for_an_answer(void **) {
    Call call("");
    call.hear(FrameKind::kChallenge, PayloadWriter().number(uint8_t{0}).bytes(Digest{}).take());
    const ConnectionId connection = call.dialer->connection();
    call.world.now += 20'000'000'000; // the answer may be on its way, and the other side may count on this connection
    call.dialer->tick();
    assert_int_equal(call.dialer->connection(), connection);
    call.hear(FrameKind::kProof, PayloadWriter().bytes(Digest{}).take());
    call.world.now += 20'000'000'000;
    call.dialer->tick();
    assert_true(call.hear(FrameKind::kWelcome, "").has_value());
    assert_int_equal(call.dialer->connection(), connection);
}

/// A worker of a job of fixed size that is connected with the store.
struct FixedWorker {
    FixedWorker(uint32_t rank, uint32_t size) {
        options.rank = rank;
        options.size = size;
        options.job = "job";
        options.heartbeat_timeout_ns = 1'000'000'000;
        member = std::make_unique<Member>(world, options, std::vector<Endpoint>{{"10.0.0.1", 1}});
        member->ask({}, UINT64_MAX);
        member->tick();
        store = world.last_id;
        member->connected(store);
        say(FrameKind::kChallenge, {}, PayloadWriter().number(uint8_t{0}).bytes(Digest{}).take());
        say(FrameKind::kProof, {}, PayloadWriter().bytes(Digest{}).take());
    }
    /// The store says this, as far as it is heard.
    void say(FrameKind kind, const SessionId &about, const std::string &payload) {
        const std::string bytes = channel.pack(kind, about, payload);
        for (std::string_view rest = bytes; !rest.empty() && member->wanted(store) != 0;) {
            const std::string_view piece = rest.substr(0, member->wanted(store));
            rest.remove_prefix(piece.size());
            member->received(store, piece);
        }
    }
    void tell_generation(uint32_t size) {
        Generation generation;
        generation.number = 1;
        generation.session = session;
        for (uint32_t rank = 0; rank < size; ++rank)
            generation.members.push_back({rank + 1, {"10.0.0.1", 5000, true, 7, 0}});
        say(FrameKind::kGeneration, session, encode(generation));
    }
    FakeWorld world;
    MembershipOptions options;
    std::unique_ptr<Member> member;
    ConnectionId store = 0;
    Channel channel{1000};
    const SessionId session = {5};
};

/// A job of one worker, so that it is connected with all others at once.
void go_of_another_session_starts_nobody(void **) {
    FixedWorker worker(0, 1);
    worker.tell_generation(1);
    worker.say(FrameKind::kGo, {4}, "");
    assert_int_equal(worker.member->state(), Member::State::kAsking);
    worker.say(FrameKind::kGo, worker.session, "");
    assert_int_equal(worker.member->state(), Member::State::kReady);
}

void a_generation_of_another_size_is_not_taken(void **) {
    for (const uint32_t size : {1u, 3u}) {
        FixedWorker worker(0, 2);
        worker.tell_generation(size);
        assert_int_equal(worker.world.closed.count(worker.store), 1); // it joins again
        assert_int_equal(worker.member->state(), Member::State::kAsking);
    }
}

/// It was told the generation before this worker was.
void who_calls_before_the_generation_is_known_is_let_in_then(void **) {
    FixedWorker worker(0, 2);
    worker.member->accepted(7, "10.0.0.2");
    Visitor other{worker.world, *worker.member, 7};
    Caller caller(hello_to(0, Role::kControl, 1), worker.session, "");
    other.say(caller.hello(other.channel));
    other.listen();
    assert_true(other.heard.empty());
    worker.tell_generation(2);
    assert_int_equal(other.last(), FrameKind::kChallenge);
    other.say(caller.answer(other.channel, other.heard.back(), "", "it"));
    assert_int_equal(other.last(), FrameKind::kWelcome);
    worker.say(FrameKind::kGo, worker.session, "");
    assert_int_equal(worker.member->state(), Member::State::kReady);
    worker.say(FrameKind::kRefused, worker.session, encode(Failure(MDIST_ERR_CONFIG, "too late")));
    assert_int_equal(worker.member->state(), Member::State::kReady);
}

void a_hello_counts_only_where_it_is_meant_to_go(void **) {
    FakeWorld world;
    Lobby lobby(world, "worker 0", 0, 64);
    lobby.open_for("", SessionId{});
    for (const uint32_t called : {0u, 1u, kStoreRank}) {
        const ConnectionId id = called + ConnectionId{1};
        lobby.accepted(id, "10.0.0.9");
        Channel channel(1 << 16);
        const std::string hello = Caller(hello_to(called, Role::kControl, 1), SessionId{}, "").hello(channel);
        for (std::string_view rest = hello; !rest.empty();) {
            const std::string_view piece = rest.substr(0, lobby.wanted(id));
            rest.remove_prefix(piece.size());
            lobby.received(id, piece);
        }
        assert_int_equal(world.closed.count(id), called == 0 ? 0 : 1);
    }
}

/// A worker of two, at work.
struct Formation {
    explicit Formation(uint32_t rank = 0) {
        options.rank = rank;
        options.size = 2;
        options.job = "job";
        options.heartbeat_timeout_ns = 1'000'000'000;
        options.join_timeout_ns = 60'000'000'000;
        Formed formed;
        formed.session[0] = 5;
        formed.roster = std::vector<Endpoint>{{"10.0.0.1", 1, true}, {"10.0.0.2", 2, true}};
        formed.peers[1 - rank].connection = 7;
        formed.peers[1 - rank].channel.emplace(std::size_t{1} << 17);
        peers = std::make_unique<Peers>(world, options, std::move(formed));
        sockets = std::make_unique<DataSockets>(world, options, *peers);
    }
    /// The other worker says this.
    void hear(FrameKind kind, const std::string &payload) {
        Channel far(1000);
        const std::string bytes = far.pack(kind, peers->session(), payload);
        for (std::string_view rest = bytes; !rest.empty();) {
            const std::string_view piece = rest.substr(0, peers->wanted(7));
            rest.remove_prefix(piece.size());
            peers->received(7, piece);
        }
    }
    /// A data connection of link 3 comes from worker 1. Returns whether it is let in.
    bool comes() { return comes(PayloadWriter().bytes(*peers->key()).take()); }
    bool comes(const std::string &body) {
        const ConnectionId id = ++world.last_id;
        Guest guest{id, "10.0.0.2", hello_to(0, Role::kData, 1), body, Channel(1000)};
        guest.hello.number = 3;
        sockets->arrived(std::move(guest));
        assert_int_equal(world.closed.count(id) + world.sent.count(id), 1);
        return world.closed.count(id) == 0;
    }
    /// Runs until the next tick.
    void tick() {
        world.now = std::max(world.now, sockets->next_tick_ns());
        sockets->tick();
    }
    FakeWorld world;
    MembershipOptions options;
    std::unique_ptr<Peers> peers;
    std::unique_ptr<DataSockets> sockets;
};

void a_data_connection_is_made_by_either_side_and_counts_once(void **) {
    Formation here;
    const DataSockets::Place place = {3, 1};
    assert_int_equal(here.sockets->take(place), DataSockets::kNotYet);
    assert_true(here.comes()); // before this worker asks
    const int first = here.sockets->take(place);
    assert_true(first >= 0);
    close_descriptor(first);
    assert_int_equal(here.sockets->take(place), DataSockets::kNotYet);

    here.sockets->ask(place);
    here.sockets->ask(place);
    here.sockets->tick();
    assert_true(here.world.connects.empty()); // the higher rank may connect first
    here.tick();
    here.sockets->tick();
    assert_int_equal(here.world.connects.size(), 1);
    const ConnectionId own = here.world.last_id;
    assert_true(here.sockets->has(own));
    here.sockets->connected(own);
    assert_true(here.comes()); // the higher rank's counts
    assert_int_equal(here.world.closed.count(own), 1);
    assert_false(here.sockets->has(own));
    assert_true(here.sockets->take_news() == std::set<uint32_t>{3});
    close_descriptor(here.sockets->take(place));

    assert_true(here.comes());
    assert_true(here.comes()); // its first attempt failed there
    here.sockets->forget(3);   // and nobody wants it any more
    assert_int_equal(here.sockets->take(place), DataSockets::kNotYet);
}

void a_data_connection_comes_in_by_the_key_alone(void **) {
    Formation here;
    const Digest key = *here.peers->key();
    std::vector<ControlFrame> frames;
    Channel far(1 << 17);
    feed_all(far.reader, here.world.sent[7], &frames);
    assert_int_equal(static_cast<int>(frames.at(0).kind), static_cast<int>(FrameKind::kKey));
    const std::string right = PayloadWriter().bytes(key).take();
    assert_true(frames[0].payload == right);
    for (const std::string &wrong : {std::string(), std::string(32, '\0'), right + "x", right.substr(1)})
        assert_false(here.comes(wrong));
    assert_int_equal(here.sockets->take({3, 1}), DataSockets::kNotYet);
    assert_true(here.comes(right));
    close_descriptor(here.sockets->take({3, 1}));
}

void a_data_connection_that_comes_before_the_key_waits_for_it(void **) {
    Formation here(1);
    const std::string key(32, 'k');
    const auto comes = [&here](const std::string &body) {
        const ConnectionId id = ++here.world.last_id;
        Guest guest{id, "10.0.0.1", hello_to(1, Role::kData, 0), body, Channel(1000)};
        guest.hello.number = 3;
        here.sockets->arrived(std::move(guest));
        return id;
    };
    const ConnectionId ends = comes(key), speaks = comes(key);
    assert_int_equal(here.world.closed.count(speaks), 0);
    assert_int_equal(here.sockets->wanted(speaks), 1); // the world goes on with it
    here.sockets->closed(ends, 0);
    here.sockets->received(speaks, "x");
    assert_int_equal(here.world.closed.count(speaks), 1);
    assert_false(here.sockets->has(ends) || here.sockets->has(speaks));
    const ConnectionId wrong = comes("another key of 32 bytes, as it is"), right = comes(key);
    here.hear(FrameKind::kKey, key);
    here.tick();
    assert_int_equal(here.world.closed.count(wrong), 1);
    assert_int_equal(here.world.released.back(), right);
    close_descriptor(here.sockets->take({3, 0}));
}

void who_has_left_makes_no_data_connection(void **) {
    Formation here;
    const DataSockets::Place place = {3, 1};
    here.sockets->ask(place);
    here.tick();
    here.hear(FrameKind::kGoodbye, PayloadWriter().number(uint32_t{1}).number(uint64_t{0}).number(uint64_t{0}).take());
    here.tick();
    assert_int_equal(here.sockets->take(place), DataSockets::kGone);
    assert_int_equal(here.world.connects.size(), 1);
    assert_false(here.peers->failure().has_value());
}

void a_data_connection_that_cannot_be_made_fails_the_job(void **) {
    Formation here;
    here.options.join_timeout_ns = 5'000'000'000;
    here.sockets->ask({3, 1});
    for (int i = 0; i < 1000 && !here.peers->failure(); ++i) {
        here.tick();
        if (here.sockets->has(here.world.last_id)) here.sockets->closed(here.world.last_id, EHOSTUNREACH);
    }
    assert_int_equal(here.peers->failure()->status(), MDIST_ERR_TIMEOUT);
    assert_int_equal(here.peers->failure()->worker(), 1);
    assert_string_equal(here.peers->failure()->message().c_str(),
                        "no data connection with worker 1 (10.0.0.2:2) within 5 s: 10.0.0.2:2: No route to host");
}

void what_cannot_be_sent_as_a_datagram_is_lost_and_no_more(void **) {
    const Descriptor epoll(list_descriptor(epoll_create1(EPOLL_CLOEXEC)));
    Datagrams datagrams(epoll.get(), 1);
    assert_true(datagrams.open_at({"127.0.0.1", 0}));
    datagrams.send({"fe80::1%no-such-device", 9}, "x");
    datagrams.send({"no address", 9}, "x");
}

std::vector<std::string> lines;

void keep_line(mdist_log_level_t, const char *message, std::size_t, void *) {
    lines.emplace_back(message);
}

void refusals_are_logged_a_few_times_and_then_counted(void **) {
    lines.clear();
    log::set_sink(keep_line, nullptr, nullptr);
    log::set_level(MDIST_LOG_DEBUG);
    FakeWorld world;
    FixedStore store(world, FixedStoreOptions{2, 3, "job", ""});
    ConnectionId id = 0;
    Hello other_job = hello_to(kStoreRank, Role::kJoin, 1), stale = other_job, elsewhere = other_job;
    other_job.job += "x";
    elsewhere.called = 0;
    for (int i = 0; i < 1000; ++i) {
        visit(world, store, ++id, other_job, "");
        visit(world, store, ++id, stale, "");
        visit(world, store, ++id, elsewhere, "");
        world.now += 1'000'000;
        store.tick();
    }
    assert_int_equal(lines.size(), 3 * kFirstLogged);
    world.now += kLogPauseNs;
    assert_true(store.next_tick_ns() <= world.now);
    store.tick();
    assert_int_equal(lines.size(), 3 * kFirstLogged + 3);
    const auto counts = [](const std::string &line) { return line.find("(997 like this since") != std::string::npos; };
    assert_int_equal(std::count_if(lines.begin(), lines.end(), counts), 3);
    world.now += kLogPauseNs;
    store.tick();
    visit(world, store, ++id, other_job, ""); // news after a quiet while
    assert_int_equal(lines.size(), 3 * kFirstLogged + 4);
    log::set_level(MDIST_LOG_OFF);
    log::set_sink(nullptr, nullptr, nullptr);
}

} // namespace

SUBJECT(membership_strangers) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_names_no_session_no_other_job_and_no_setting),
        cmocka_unit_test(a_worker_tells_no_stranger_its_session),
        cmocka_unit_test(who_answers_and_proves_nothing_can_only_refuse),
        cmocka_unit_test(who_answers_in_another_version_is_told_apart),
        cmocka_unit_test(who_has_proved_itself_may_wait_long_for_an_answer),
        cmocka_unit_test(go_of_another_session_starts_nobody),
        cmocka_unit_test(a_generation_of_another_size_is_not_taken),
        cmocka_unit_test(who_calls_before_the_generation_is_known_is_let_in_then),
        cmocka_unit_test(a_hello_counts_only_where_it_is_meant_to_go),
        cmocka_unit_test(a_data_connection_is_made_by_either_side_and_counts_once),
        cmocka_unit_test(a_data_connection_comes_in_by_the_key_alone),
        cmocka_unit_test(a_data_connection_that_comes_before_the_key_waits_for_it),
        cmocka_unit_test(who_has_left_makes_no_data_connection),
        cmocka_unit_test(a_data_connection_that_cannot_be_made_fails_the_job),
        cmocka_unit_test(what_cannot_be_sent_as_a_datagram_is_lost_and_no_more),
        cmocka_unit_test(refusals_are_logged_a_few_times_and_then_counted),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
