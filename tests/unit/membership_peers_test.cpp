// SPDX-License-Identifier: Apache-2.0
// What a worker hears from the others once the job has formed: heartbeats, questions, causes of failure, goodbyes.
#include "membership_support.h"

#include "membership/protocol/neighbors.h"
#include "membership/worker/peers.h"
#include "subject.h"
#include "util/log.h"
#include "util/text.h"

#include <bit>

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr Digest kPulse = {1, 2, 3};

struct Pair {
    explicit Pair(uint64_t silence, bool takes_datagrams = true) {
        options.size = 2;
        options.heartbeat_timeout_ns = silence;
        Formed formed;
        formed.session[0] = 7;
        formed.pulse = kPulse;
        formed.roster = std::vector<Endpoint>{{"10.0.0.1", 1, true}, {"10.0.0.2", 2, takes_datagrams}};
        formed.peers[1].connection = 7;
        formed.peers[1].channel.emplace(std::size_t{1} << 17);
        peers = std::make_unique<Peers>(world, options, std::move(formed));
    }
    void hear(FrameKind kind, const std::string &payload) {
        std::string_view rest(bytes = far.pack(kind, peers->session(), payload));
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

void a_worker_is_named_with_all_that_is_known_of_it(void **) {
    MembershipOptions options;
    const auto name = [&options](const Roster &roster) { return worker_name(options, roster, 1); };
    const std::vector<Endpoint> plain = {{}, {"10.0.0.2", 5000, true}}, known = {{}, {"10.0.0.2", 5000, true, 77, 1}},
                                moved = {{}, {"10.0.0.2", 5000, true, 77, 3}};
    assert_string_equal(name({}).c_str(), "worker 1");
    assert_string_equal(name(plain).c_str(), "worker 1 (10.0.0.2:5000)");
    assert_string_equal(name(known).c_str(), "worker 1 (10.0.0.2:5000, pid 77)");
    assert_string_equal(name(moved).c_str(), "worker 1 (10.0.0.2:5000, pid 77, started as rank 3)");
    options.names = {"worker 0", "worker 1"};
    assert_string_equal(name({}).c_str(), "worker 1");
    assert_string_equal(name(known).c_str(), "worker 1 (10.0.0.2, pid 77)");
    options.names = {"worker 0 (chief, h0:1)", "worker 1 (h1:1)"};
    assert_string_equal(name({}).c_str(), "worker 1 (h1:1)");
    assert_string_equal(name(plain).c_str(), "worker 1 (h1:1)");
    assert_string_equal(name(known).c_str(), "worker 1 (h1:1, pid 77)");
}

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

/// The other worker's end of the second path.
struct Far {
    explicit Far(const Pair &pair) : options(pair.options), roster(pair.peers->roster()) {
        options.rank = 1;
        pulse.emplace(world, options, pair.peers->session(), kPulse, roster);
    }
    /// Answers to what it was asked last.
    std::string answer(const FakeWorld &asker) {
        pulse->heard(asker.datagrams.back().second);
        return world.datagrams.empty() ? "" : world.datagrams.back().second;
    }
    FakeWorld world;
    MembershipOptions options;
    Roster roster;
    std::optional<Pulse> pulse;
};

void a_silent_worker_is_asked_on_a_second_path(void **) {
    Pair pair(10 * kSecond);
    Far far(pair);
    pair.run(kSecond, kSecond / 10);
    assert_true(pair.world.datagrams.empty());
    pair.run(8 * kSecond, kSecond / 10);
    assert_true(pair.world.datagrams.size() > 20);
    const std::string answer = far.answer(pair.world);
    assert_string_equal(text_of(far.world.datagrams.back().first).c_str(), "10.0.0.1:1");
    pair.peers->heard_datagram(answer);
    pair.run(9 * kSecond, kSecond / 10);
    assert_false(pair.peers->failure().has_value());
    pair.peers->heard_datagram(answer); // once more: it counts once
    pair.run(3 * kSecond, kSecond / 10);
    assert_true(pair.peers->failure().has_value());
    pair.world.datagrams.clear();
    Pulse asking(far.world, far.options, pair.peers->session(), kPulse, far.roster);
    for (int i = 0; i < 9; ++i) asking.ask(0);
    pair.peers->heard_datagram(far.world.datagrams.back().second);
    assert_true(pair.world.datagrams.empty()); // a worker that has failed keeps nobody waiting
}

void an_answer_that_comes_late_shows_that_a_worker_lived_when_it_was_asked(void **) {
    Pair pair(10 * kSecond);
    Far far(pair);
    pair.run(9 * kSecond, kSecond / 10);
    for (const auto &[to, question] : pair.world.datagrams) far.pulse->heard(question);
    const auto &answers = far.world.datagrams;
    assert_int_equal(answers.size(), pair.world.datagrams.size());
    assert_true(answers.size() > 20);
    pair.peers->heard_datagram(answers[8].second); // asked after some 4 s
    pair.run(3 * kSecond, kSecond / 10);
    assert_false(pair.peers->failure().has_value());
    for (std::size_t i = 0; i < 12; ++i) pair.peers->heard_datagram(answers[i].second); // held back by somebody
    pair.run(4 * kSecond, kSecond / 10);
    assert_true(pair.peers->failure().has_value());
}

void a_question_is_answered_and_shows_nothing(void **) {
    Pair pair(10 * kSecond);
    Far far(pair);
    pair.run(9 * kSecond, kSecond / 10);
    pair.world.datagrams.clear();
    far.pulse->ask(0);
    for (int i = 0; i < 2; ++i) pair.peers->heard_datagram(far.world.datagrams.back().second);
    assert_int_equal(pair.world.datagrams.size(), 1); // not again when it is repeated
    pair.run(2 * kSecond, kSecond / 10);
    assert_true(pair.peers->failure().has_value());
}

void a_worker_without_datagrams_is_not_asked_and_no_question_names_the_session(void **) {
    Pair without(10 * kSecond, false);
    without.run(9 * kSecond, kSecond / 10);
    assert_true(without.world.datagrams.empty());
    Pair pair(10 * kSecond);
    pair.run(9 * kSecond, kSecond / 10);
    const SessionId session = pair.peers->session();
    const std::string_view name(reinterpret_cast<const char *>(session.data()), session.size());
    for (const auto &[to, question] : pair.world.datagrams) assert_true(question.find(name) == question.npos);
}

void what_proves_nothing_is_no_sign_of_life(void **) {
    Pair pair(10 * kSecond);
    Far far(pair);
    pair.run(9 * kSecond, kSecond / 10);
    const std::string answer = far.answer(pair.world);
    for (std::size_t i = 0; i < answer.size(); ++i) {
        std::string changed = answer;
        changed[i] = static_cast<char>(changed[i] ^ 0x10);
        const bool is_count = i >= 13 && i < 21; // of which each session's end says anything it likes, without a secret
        if (!is_count || !pair.options.secret.empty()) pair.peers->heard_datagram(changed);
        pair.peers->heard_datagram(std::string_view(answer).substr(0, i));
    }
    pair.peers->heard_datagram(answer + "x");
    Digest other = kPulse;
    other[0] ^= 1;
    Pulse stranger(far.world, far.options, pair.peers->session(), other, far.roster);
    pair.world.datagrams.clear();
    stranger.ask(0);
    pair.peers->heard_datagram(far.world.datagrams.back().second);
    assert_true(pair.world.datagrams.empty());
    pair.run(2 * kSecond, kSecond / 10);
    assert_true(pair.peers->failure().has_value());
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

void a_long_cause_is_cut_between_characters_and_a_short_one_stays(void **) {
    std::string message = "x";
    for (int i = 0; i < 2000; ++i) message += "\xc3\xa9";
    const std::string told = decode_failure(encode(Failure(MDIST_ERR_ABORTED, message)))->message();
    assert_int_equal(told.size(), 2048);
    assert_string_equal(told.c_str(), (message.substr(0, 2045) + "...").c_str());
    const std::string bad = "short, and \xff no UTF-8";
    assert_string_equal(decode_failure(encode(Failure(MDIST_ERR_ABORTED, bad)))->message().c_str(), bad.c_str());
}

std::string goodbye(uint32_t rank, uint64_t entered, uint64_t exchanges) {
    return PayloadWriter().number(rank).number(entered).number(exchanges).take();
}

std::string blob(uint32_t rank, uint64_t number) {
    return PayloadWriter().number(rank).number(number).text("x").take();
}

void the_first_cause_stays_and_is_passed_on_once(void **) {
    Pair pair(kSecond);
    pair.hear(FrameKind::kAbort, encode(Failure(MDIST_ERR_MISMATCH, "first").worker(1)));
    pair.hear(FrameKind::kAbort, encode(Failure(MDIST_ERR_TIMEOUT, "second").worker(0)));
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
    pair.hear(FrameKind::kGoodbye, goodbye(1, 4, 0) + encode(left));
    assert_int_equal(pair.world.closed.count(7), 1); // which the other worker waits for
    assert_false(pair.peers->failure().has_value());
    assert_true(pair.peers->set_entered(5));
    pair.peers->missed(5);
    assert_string_equal(pair.peers->failure()->message().c_str(), "worker 2 has left");
    assert_int_equal(pair.peers->failure()->worker(), 2);
}

void a_departure_matters_when_the_worker_is_needed(void **) {
    Pair pair(kSecond);
    pair.peers->set_entered(4);
    pair.hear(FrameKind::kGoodbye, goodbye(1, 4, 0));
    assert_int_equal(pair.world.closed.count(7), 1); // which the other worker waits for
    assert_false(pair.peers->failure().has_value());
    assert_false(pair.peers->set_entered(4));
    assert_true(pair.peers->set_entered(5));
    pair.peers->missed(5);
    assert_string_equal(pair.peers->failure()->reason().c_str(), "left");
}

/// The ways by which news travels, in sessions of any size.
void all_hear_what_each_says_once_and_by_neighbors(void **) {
    for (uint32_t size = 1; size <= 300; size += size < 80 ? 1 : 37) {
        const auto most = static_cast<std::size_t>(2 * std::bit_width(size));
        for (uint32_t origin = 0; origin < size; ++origin) {
            std::vector<uint32_t> heard = {origin};
            std::vector<uint32_t> steps(size, 0);
            for (std::size_t i = 0; i < heard.size(); ++i) {
                const std::vector<uint32_t> near = neighbors_of(heard[i], size);
                assert_true(connects_all(size) ? near.size() == size - 1 : near.size() <= most);
                for (const uint32_t child : children_of(origin, heard[i], size)) {
                    assert_true(std::binary_search(near.begin(), near.end(), child));
                    assert_int_equal(parent_of(origin, child, size), heard[i]);
                    steps[child] = steps[heard[i]] + 1;
                    assert_true(steps[child] <= static_cast<uint32_t>(std::bit_width(size)));
                    heard.push_back(child);
                }
            }
            std::sort(heard.begin(), heard.end());
            for (uint32_t rank = 0; rank < size; ++rank) assert_int_equal(heard.at(rank), rank);
            assert_int_equal(heard.size(), size);
            const uint32_t via = origin * 7 % size;
            for (uint32_t rank = 0; rank < size; ++rank) {
                uint32_t at = rank;
                while (at != via && at != origin) at = parent_of(origin, at, size);
                assert_int_equal(hears_through(origin, via, rank, size), at == via);
            }
        }
    }
}

void who_breaks_the_protocol_is_lost(void **) {
    const std::string none = PayloadWriter().number(uint64_t{0}).take();
    for (int way = 0; way < 18; ++way) {
        Pair pair(kSecond);
        if (way == 0) pair.hear(FrameKind::kExchange, blob(1, 2));
        if (way == 1) pair.hear(FrameKind::kGeneration, "");
        if (way == 2) pair.hear(FrameKind::kExchange, "short");
        if (way == 3) pair.hear(FrameKind::kHeartbeat, "short");
        if (way == 4) pair.hear(FrameKind::kHeartbeat, none + "more");
        if (way == 5) pair.hear(FrameKind::kGoodbye, "short");
        if (way == 6) pair.hear(FrameKind::kAbort, "no failure");
        // Nobody passes on what is its own library's fault.
        if (way == 7) pair.hear(FrameKind::kAbort, encode(Failure(MDIST_ERR_INTERNAL, "a hole")));
        if (way == 8) pair.hear(FrameKind::kExchange, blob(1, 0));
        for (int i = 0; way == 9 && i < 2; ++i) pair.hear(FrameKind::kExchange, blob(1, 1));
        if (way == 10) pair.hear(FrameKind::kExchange, blob(0, 1)); // this worker's own
        if (way == 11) pair.hear(FrameKind::kExchange, blob(2, 1)); // of nobody
        if (way == 12) pair.hear(FrameKind::kTable, PayloadWriter().number(uint64_t{1}).text("").text("").take());
        if (way == 13) pair.hear(FrameKind::kKey, PayloadWriter().bytes(Digest{}).take()); // not from worker 0
        if (way == 14) pair.hear(FrameKind::kNotice, PayloadWriter().number(uint32_t{0}).take());
        if (way == 15) pair.hear(FrameKind::kEntered, PayloadWriter().number(uint32_t{1}).take());
        if (way == 17) pair.hear(FrameKind::kEntered, PayloadWriter().number(uint32_t{0}).number(uint64_t{1}).take());
        if (way == 16) pair.hear(FrameKind::kGoodbye, goodbye(0, 4, 0)); // this worker's own
        assert_true(pair.peers->failure().has_value());
        assert_int_equal(pair.peers->failure()->status(), MDIST_ERR_PEER_LOST);
        assert_int_equal(pair.world.closed.count(7), 1);
    }
}

} // namespace

SUBJECT(membership_peers) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_is_named_with_all_that_is_known_of_it),
        cmocka_unit_test(silence_is_a_loss_and_own_sleep_is_not),
        cmocka_unit_test(a_silent_worker_is_asked_on_a_second_path),
        cmocka_unit_test(an_answer_that_comes_late_shows_that_a_worker_lived_when_it_was_asked),
        cmocka_unit_test(a_question_is_answered_and_shows_nothing),
        cmocka_unit_test(a_worker_without_datagrams_is_not_asked_and_no_question_names_the_session),
        cmocka_unit_test(what_proves_nothing_is_no_sign_of_life),
        cmocka_unit_test(heartbeats_keep_a_worker_and_say_how_far_it_is),
        cmocka_unit_test(a_long_cause_is_cut_between_characters_and_a_short_one_stays),
        cmocka_unit_test(the_first_cause_stays_and_is_passed_on_once),
        cmocka_unit_test(a_failure_of_the_next_operation_waits_until_it_is_entered),
        cmocka_unit_test(a_departure_matters_when_the_worker_is_needed),
        cmocka_unit_test(all_hear_what_each_says_once_and_by_neighbors),
        cmocka_unit_test(who_breaks_the_protocol_is_lost),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
