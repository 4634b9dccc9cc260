// SPDX-License-Identifier: Apache-2.0
// The decisions of a regroup, and the store of an elastic job, one event at a time. tests/sim runs the whole protocol.
#include "membership_support.h"

#include "membership/store/decide.h"
#include "membership/store/elastic_store.h"
#include "membership/store/fixed_store.h"
#include "random.h"
#include "subject.h"
#include "util/log.h"
#include "util/text.h"

#include <random>

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint64_t kSecond = 1'000'000'000;

// ---- Decisions

void replicas_are_dealt_in_order_and_evenly(void **) {
    for (uint32_t replicas = 1; replicas <= 70; ++replicas)
        for (uint32_t workers = 1; workers <= replicas; ++workers) {
            const auto spans = deal_replicas(replicas, workers);
            assert_int_equal(spans.size(), workers);
            uint32_t next = 0, before = UINT32_MAX;
            for (const ReplicaRange &span : spans) {
                assert_int_equal(span.first, next);
                const uint32_t count = span.last - span.first;
                assert_true(count == replicas / workers || count == replicas / workers + 1);
                assert_true(count <= before); // lower ranks have more
                next = span.last;
                before = count;
            }
            assert_int_equal(next, replicas);
        }
}

HeldCommit held(uint64_t number, bool marked, std::vector<ReplicaRange> whole) {
    return {{number, 1}, marked, std::move(whole)};
}

void the_newest_marked_and_whole_commit_is_taken(void **) {
    // Worker 0 has marked commit 5, and holds the part of replica 1 for a worker that is lost.
    const Recovery both = recover(
        {{held(4, true, {{0, 2}}), held(5, true, {{0, 2}})}, {held(4, true, {{2, 3}}), held(5, false, {{2, 3}})}}, 3);
    assert_int_equal(both.resume->number, 5);
    // Nobody that is left has marked commit 5.
    const Recovery unmarked =
        recover({{held(4, true, {{0, 2}}), held(5, false, {{0, 3}})}, {held(4, true, {{1, 3}})}}, 3);
    assert_int_equal(unmarked.resume->number, 4);
    // A part of commit 5 is lost, but not of commit 4.
    const Recovery torn = recover({{held(4, true, {{0, 3}}), held(5, true, {{0, 2}})}}, 3);
    assert_int_equal(torn.resume->number, 4);
}

void a_loss_names_the_replicas(void **) {
    const Recovery lost = recover({{held(4, true, {{0, 1}}), held(5, true, {{0, 2}, {5, 6}})}}, 6);
    assert_false(lost.resume.has_value());
    assert_true(lost.lost == std::vector<uint32_t>({2, 3, 4}));
    assert_true(recover({{}, {}}, 6).lost.empty());
}

void commits_of_two_generations_do_not_mix(void **) {
    const Holdings a = {{{5, 1}, true, {{0, 1}}}}, b = {{{5, 2}, true, {{1, 2}}}};
    assert_false(recover({a, b}, 2).resume.has_value());
}

void the_one_with_fewer_good_links_goes(void **) {
    assert_true(choose_dropped({{}, {}, {}}).empty());
    // 1 lacks links with 0 and 2, which each lack one.
    assert_true(choose_dropped({{1}, {}, {1}, {}}) == std::set<uint32_t>({1}));
    // Both lack one: the higher rank goes, whoever of the two has reported it.
    assert_true(choose_dropped({{}, {2}, {}}) == std::set<uint32_t>({2}));
    assert_true(choose_dropped({{}, {}, {1}}) == std::set<uint32_t>({2}));
    // Halves of two and three: the smaller one goes.
    assert_true(choose_dropped({{2, 3, 4}, {2, 3, 4}, {}, {}, {}}) == std::set<uint32_t>({0, 1}));
    // Reports about oneself, or about ranks that do not exist, count for nothing.
    assert_true(choose_dropped({{0, 9}, {}}).empty());
}

void those_that_are_left_reach_each_other(void **) {
    std::mt19937_64 random(test_seed(21));
    for (int round = 0; round < 2000; ++round) {
        const auto size = static_cast<uint32_t>(1 + random() % 12);
        const uint64_t density = random() % 8;
        std::vector<std::set<uint32_t>> unreachable(size);
        for (auto &of : unreachable)
            for (uint32_t other = 0; other < size; ++other)
                if (random() % 10 < density) of.insert(other);
        const auto dropped = choose_dropped(unreachable);
        assert_true(dropped.size() < size);
        for (uint32_t a = 0; a < size; ++a)
            for (uint32_t b = 0; b < size; ++b)
                if (a != b && dropped.count(a) == 0 && dropped.count(b) == 0)
                    assert_int_equal(unreachable[a].count(b), 0);
    }
}

void a_generation_is_read_as_it_was_written_or_not_at_all(void **) {
    Generation generation;
    generation.number = 7;
    generation.session[3] = 9;
    generation.pulse[31] = 4;
    generation.resume = CommitId{12, 6};
    generation.members = {{11, {"10.0.0.1", 5000, true, 70}, {0, 3}}, {12, {"::1", 5001, false, 71}, {3, 5}}};
    const std::string bytes = encode(generation);
    const auto read = decode_generation(bytes);
    assert_true(read.has_value());
    assert_true(encode(*read) == bytes);
    assert_int_equal(*read->rank_of(12), 1);
    assert_false(read->rank_of(13).has_value());
    const std::string said = encode(Ask{{held(3, true, {{0, 4}, {6, 7}}), held(4, false, {})}, 5, 12, true});
    const auto ask = decode_ask(said);
    assert_true(encode(*ask) == said);
    assert_int_equal(ask->limit_ns, 5);
    assert_int_equal(ask->missed, 12);
    assert_true(ask->leaves);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        assert_false(decode_generation(std::string_view(bytes).substr(0, size)).has_value());
    for (std::size_t size = 0; size < said.size(); ++size)
        assert_false(decode_ask(std::string_view(said).substr(0, size)).has_value());
    const std::string many =
        PayloadWriter().number(uint64_t{0}).number(uint64_t{0}).number(uint8_t{0}).number(UINT32_MAX).take();
    assert_false(decode_ask(many).has_value());
}

// ---- The store

struct Scene {
    explicit Scene(uint32_t min, uint32_t max, bool open = true)
        : store(world, ElasticStoreOptions{max, min, max, 5 * kSecond, 10 * kSecond, "job", "", open}) {}

    Visitor join(WorkerId id, uint32_t believed = 0, const std::string &agreement = "a = 1\n",
                 Role role = Role::kElastic) {
        return join_at(world, store, ++last, id, believed, agreement, role, job);
    }
    static Visitor join_at(FakeWorld &world, ElasticStore &store, ConnectionId connection, WorkerId id,
                           uint32_t believed = 0, const std::string &agreement = "a = 1\n", Role role = Role::kElastic,
                           const std::string &job = "job") {
        store.accepted(connection, text("10.0.0.", id));
        Visitor guest{world, store, connection};
        Hello hello;
        hello.role = role;
        hello.job = job;
        Caller caller(hello, SessionId{}, "");
        guest.say(caller.hello(guest.channel));
        guest.listen();
        const std::string body = encode(Joining{id, believed, {"10.0.0.1", 5000, true, 70}, agreement, ""});
        guest.say(caller.answer(guest.channel, guest.heard.back(), body, "it"));
        guest.listen();
        return guest;
    }
    static void ask(Visitor &worker, const Holdings &held = {}, WorkerId missed = 0,
                    uint64_t limit_ns = 3600 * kSecond) {
        say_ask(worker, {held, limit_ns, missed, false});
    }
    /// It says that it would leave the job.
    static void ask_and_leave(Visitor &worker, const Holdings &held) {
        say_ask(worker, {held, 3600 * kSecond, 0, true});
    }
    static void say_ask(Visitor &worker, const Ask &ask) {
        worker.say(worker.channel.pack(FrameKind::kAsk, SessionId{}, encode(ask)));
    }
    void say(Visitor &worker, FrameKind kind, const std::string &payload = {}) {
        worker.say(worker.channel.pack(kind, store.generation().session, payload));
    }
    /// Time passes, in which these are heard.
    void pass(uint64_t ns, std::vector<Visitor *> heard = {}) {
        for (const uint64_t end = world.now + ns; world.now < end;) {
            world.now += kSecond / 2;
            for (Visitor *worker : heard) say(*worker, FrameKind::kHeartbeat);
            store.tick();
        }
    }
    static Failure refusal(Visitor &worker) {
        assert_int_equal(worker.last(), FrameKind::kRefused);
        return *decode_failure(worker.heard.back().payload);
    }

    FakeWorld world;
    std::string job = "job";
    ConnectionId last = 0;
    ElasticStore store;
};

void a_generation_starts_when_all_are_there_and_connected(void **) {
    Scene scene(1, 2);
    Visitor a = scene.join(7), b = scene.join(8);
    Scene::ask(a);
    assert_int_equal(a.last(), FrameKind::kWelcome);
    Scene::ask(b);
    assert_int_equal(a.last(), FrameKind::kGeneration);
    assert_int_equal(b.last(), FrameKind::kGeneration);
    assert_int_equal(decode_generation(b.heard.back().payload)->number, 1);
    scene.say(a, FrameKind::kMeshed);
    assert_int_equal(a.last(), FrameKind::kGeneration);
    scene.say(b, FrameKind::kMeshed);
    assert_int_equal(a.last(), FrameKind::kGo);
    assert_int_equal(b.last(), FrameKind::kGo);
}

/// Two workers of generation 1 that work.
struct Working : Scene {
    Working(uint32_t min, uint32_t max, bool open = true) : Scene(min, max, open), a(join(1)), b(join(2)) {
        ask(a);
        ask(b);
        pass(6 * kSecond, {&a, &b});
        say(a, FrameKind::kMeshed);
        say(b, FrameKind::kMeshed);
        assert_int_equal(store.state(), ElasticStore::State::kReady);
    }
    Visitor a, b;
};

void a_report_about_a_generation_that_was_replaced_does_not_count(void **) {
    Working scene(1, 2);
    const SessionId former = scene.store.generation().session;
    for (Visitor *each : {&scene.a, &scene.b}) Scene::ask(*each, {held(3, true, {{0, 2}})});
    assert_int_equal(scene.store.generation().number, 2);
    scene.a.say(scene.a.channel.pack(FrameKind::kMeshed, former, {})); // was on its way
    scene.say(scene.b, FrameKind::kMeshed);
    assert_int_equal(scene.b.last(), FrameKind::kGeneration);
    scene.say(scene.a, FrameKind::kMeshed);
    assert_int_equal(scene.a.last(), FrameKind::kGo);
    assert_int_equal(scene.b.last(), FrameKind::kGo);
}

/// Whether the store last told this worker that a member is to leave.
bool hears_of_leaver(Visitor &worker) {
    assert_int_equal(worker.last(), FrameKind::kHeartbeat);
    PayloadReader news(worker.heard.back().payload);
    news.number<uint32_t>();
    news.number<uint32_t>();
    return news.number<uint8_t>() != 0;
}

void members_that_are_to_leave_do_so_one_with_each_round(void **) {
    Scene scene(1, 3);
    Visitor a = scene.join(1), b = scene.join(2), c = scene.join(3);
    std::vector<Visitor *> all = {&a, &b, &c};
    for (Visitor *each : all) Scene::ask(*each);
    for (Visitor *each : all) scene.say(*each, FrameKind::kMeshed);
    scene.store.dismiss(3);
    scene.store.dismiss(2);
    scene.store.dismiss(9); // nobody
    for (Visitor *each : all) assert_true(hears_of_leaver(*each));
    const Holdings everything = {held(3, true, {{0, 3}})};
    for (Visitor *each : all) Scene::ask(*each, everything);
    assert_int_equal(scene.store.generation().members.size(), 2);
    assert_string_equal(Scene::refusal(b).reason().c_str(), "dismissed");
    for (Visitor *each : {&a, &c}) scene.say(*each, FrameKind::kMeshed);
    assert_true(hears_of_leaver(a)); // c is next
    for (Visitor *each : {&a, &c}) Scene::ask(*each, everything);
    assert_string_equal(Scene::refusal(c).reason().c_str(), "dismissed");
    scene.say(a, FrameKind::kMeshed);
    assert_int_equal(a.last(), FrameKind::kGo);
    scene.store.dismiss(1); // the last one stays
    assert_false(hears_of_leaver(a));
}

void members_that_say_so_leave_as_soon_as_others_are_enough(void **) {
    Scene scene(2, 3);
    Visitor a = scene.join(1), b = scene.join(2), c = scene.join(3);
    const Holdings everything = {held(3, true, {{0, 3}})};
    for (Visitor *each : {&a, &b, &c}) Scene::ask(*each);
    for (Visitor *each : {&a, &b, &c}) scene.say(*each, FrameKind::kMeshed);
    Scene::ask(a, everything);
    for (Visitor *each : {&b, &c}) Scene::ask_and_leave(*each, everything);
    assert_string_equal(Scene::refusal(b).reason().c_str(), "dismissed");
    assert_int_equal(scene.store.generation().members.size(), 2); // c is needed
    const auto left = scene.store.take_left_behind();
    assert_int_equal(left->id, 2);
    assert_int_equal(left->how, MDIST_DEPARTURE_LEFT);
    for (Visitor *each : {&a, &c}) scene.say(*each, FrameKind::kMeshed);
    assert_int_equal(c.last(), FrameKind::kGo);
    Visitor d = scene.join(4);
    Scene::ask(d);
    for (Visitor *each : {&a, &c}) Scene::ask(*each, everything); // it said so before
    assert_string_equal(Scene::refusal(c).reason().c_str(), "dismissed");
    assert_int_equal(scene.store.generation().members.size(), 2);
}

/// Its launcher has changed its mind while the worker was still starting.
void who_is_dismissed_before_it_joins_is_refused_then(void **) {
    Working scene(1, 3);
    scene.store.dismiss(7);
    Visitor late = scene.join(7);
    assert_string_equal(Scene::refusal(late).reason().c_str(), "dismissed");
    Scene first(2, 3);
    first.store.dismiss(7);
    Visitor needed = first.join(7), other = first.join(8);
    assert_int_equal(needed.last(), FrameKind::kWelcome); // the job cannot begin without it
    assert_int_equal(other.last(), FrameKind::kWelcome);
}

void a_store_hears_of_commits_in_passing(void **) {
    Working scene(1, 2);
    scene.say(scene.a, FrameKind::kHeartbeat, PayloadWriter().number(uint8_t{0}).take());
    assert_false(scene.store.knows_of_commit());
    scene.say(scene.a, FrameKind::kHeartbeat, PayloadWriter().number(uint8_t{1}).take());
    assert_true(scene.store.knows_of_commit());
}

void nobody_leaves_a_job_that_would_not_begin_then(void **) {
    Scene scene(2, 3);
    Visitor a = scene.join(1), b = scene.join(2);
    scene.store.dismiss(2);
    Visitor c = scene.join(3);
    scene.store.dismiss(3);
    assert_string_equal(Scene::refusal(c).reason().c_str(), "dismissed");
    Scene::ask(a);
    Scene::ask(b);
    scene.pass(6 * kSecond, {&a, &b});
    assert_int_equal(scene.store.generation().members.size(), 2);
}

void who_is_to_leave_stays_while_only_it_has_a_part(void **) {
    Working scene(1, 3);
    scene.store.dismiss(2);
    Scene::ask(scene.a, {held(3, true, {{0, 2}})});
    Scene::ask(scene.b, {held(3, true, {{0, 3}})});
    assert_int_equal(scene.store.generation().members.size(), 2);
    Visitor newcomer = scene.join(5);
    scene.store.dismiss(5);
    assert_string_equal(Scene::refusal(newcomer).reason().c_str(), "dismissed");
}

void a_round_waits_for_a_member_that_is_heard_until_it_is_silent(void **) {
    Working scene(1, 3);
    Scene::ask(scene.a);
    scene.pass(60 * kSecond, {&scene.a, &scene.b});
    assert_int_equal(scene.store.generation().number, 1); // b lives, and has not asked
    scene.pass(9 * kSecond, {&scene.a});
    assert_int_equal(scene.store.generation().number, 1);
    scene.pass(2 * kSecond, {&scene.a});
    assert_int_equal(scene.store.generation().number, 2);
    assert_string_equal(Scene::refusal(scene.b).reason().c_str(), "old_generation");
    Visitor again = scene.join(2, 1);
    assert_string_equal(Scene::refusal(again).reason().c_str(), "old_generation");
    Visitor anew = scene.join(2);
    assert_int_equal(anew.last(), FrameKind::kWelcome);
}

void a_member_that_was_missed_has_the_heartbeat_timeout_to_ask(void **) {
    Working scene(1, 3);
    Scene::ask(scene.a, {held(3, true, {{0, 3}})}, 2);
    scene.pass(9 * kSecond, {&scene.a, &scene.b});
    assert_int_equal(scene.store.generation().number, 1);
    assert_false(scene.store.take_left_behind().has_value());
    scene.pass(2 * kSecond, {&scene.a, &scene.b}); // b's library is heard all the time
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().members.size(), 1);
    assert_string_equal(Scene::refusal(scene.b).reason().c_str(), "dropped");
    const auto left = scene.store.take_left_behind();
    assert_int_equal(left->id, 2);
    assert_int_equal(left->how, MDIST_DEPARTURE_LOST);
    assert_false(scene.store.take_left_behind().has_value());
    Visitor again = scene.join(2, 1);
    assert_string_equal(Scene::refusal(again).reason().c_str(), "dropped");
}

void a_member_that_was_missed_and_asks_in_time_stays(void **) {
    Working scene(1, 2);
    Scene::ask(scene.a, {held(3, true, {{0, 2}})}, 2);
    scene.pass(9 * kSecond, {&scene.a, &scene.b});
    Scene::ask(scene.b, {held(3, true, {{0, 2}})}, 2);
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().members.size(), 2);
    scene.pass(60 * kSecond, {&scene.a, &scene.b}); // nobody is overdue any more
    assert_int_equal(scene.store.generation().number, 2);
}

void members_that_nobody_missed_have_half_of_the_limit(void **) {
    Scene scene(1, 3);
    Visitor a = scene.join(1), b = scene.join(2), c = scene.join(3);
    std::vector<Visitor *> all = {&a, &b, &c};
    for (Visitor *each : all) Scene::ask(*each);
    for (Visitor *each : all) scene.say(*each, FrameKind::kMeshed);
    Scene::ask(a, {held(3, true, {{0, 3}})}, 2, 60 * kSecond);
    scene.pass(29 * kSecond, all);
    assert_int_equal(scene.store.generation().number, 1);
    scene.pass(2 * kSecond, all);
    assert_int_equal(scene.store.generation().number, 2);
    assert_string_equal(Scene::refusal(b).reason().c_str(), "dropped");
    assert_string_equal(Scene::refusal(c).reason().c_str(), "dropped");
}

/// One that will not wait for long does not make others go.
void members_that_nobody_missed_have_the_heartbeat_timeout_at_least(void **) {
    Working scene(1, 2);
    Scene::ask(scene.a, {held(3, true, {{0, 2}})}, 0, 4 * kSecond);
    scene.pass(9 * kSecond, {&scene.a, &scene.b});
    assert_int_equal(scene.store.generation().number, 1);
    scene.pass(2 * kSecond, {&scene.a, &scene.b});
    assert_string_equal(Scene::refusal(scene.b).reason().c_str(), "dropped");
}

/// Its part may be nowhere else, so the job waits for it as for a silent member.
void a_member_that_may_have_the_rest_of_the_state_is_not_dropped(void **) {
    Working scene(1, 2);
    Scene::ask(scene.a, {held(3, true, {{0, 1}})}, 2);
    scene.pass(13 * kSecond, {&scene.a, &scene.b});
    assert_int_equal(scene.store.generation().number, 1);
    Scene::ask(scene.b, {held(3, true, {{1, 2}})}, 2);
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().members.size(), 2);
}

void a_member_that_was_cut_off_has_time_to_ask(void **) {
    Working scene(1, 2);
    Scene::ask(scene.a, {held(3, true, {{0, 2}})}, 2);
    scene.store.closed(scene.b.id, 0);
    scene.pass(7 * kSecond, {&scene.a});
    Visitor b = scene.join(2, 1);
    scene.pass(7 * kSecond, {&scene.a, &b}); // longer than a has waited, but not than b is back
    assert_int_equal(scene.store.generation().number, 1);
    Scene::ask(b, {held(3, true, {{0, 2}})});
    assert_int_equal(scene.store.generation().members.size(), 2);
    assert_int_equal(scene.store.generation().number, 2);
}

void a_failed_job_names_the_members_that_may_still_run(void **) {
    Working scene(2, 2);
    Scene::ask(scene.a, {held(3, true, {{0, 2}})}, 2);
    scene.pass(16 * kSecond, {&scene.a, &scene.b}); // nobody takes its place
    assert_string_equal(Scene::refusal(scene.a).reason().c_str(), "too_few_workers");
    const auto dropped = scene.store.take_left_behind();
    assert_int_equal(dropped->id, 2);
    assert_int_equal(dropped->how, MDIST_DEPARTURE_LOST);
    const auto failed = scene.store.take_left_behind();
    assert_int_equal(failed->id, 1);
    assert_int_equal(failed->how, MDIST_DEPARTURE_JOB_FAILED);
}

void a_member_that_was_reaped_is_not_waited_for(void **) {
    Working scene(1, 2);
    Scene::ask(scene.a);
    scene.store.reaped(2);
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().members.size(), 1);
}

void newcomers_cannot_go_on_without_a_member(void **) {
    Working scene(1, 4);
    Visitor c = scene.join(3), d = scene.join(4);
    Scene::ask(c);
    Scene::ask(d);
    scene.pass(300 * kSecond, {&c, &d}); // nobody hears of a and b, but they may hear each other
    assert_int_equal(scene.store.generation().number, 1);
    Visitor a = scene.join(1, 1);
    Scene::ask(a);
    assert_int_equal(scene.store.generation().number, 1); // b may be on its way, too
    scene.pass(11 * kSecond, {&a, &c, &d});
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().members.size(), 3);
    assert_int_equal(scene.store.generation().members[0].id, 1); // survivors come first
}

void without_a_secret_nobody_comes_after_the_first_generation(void **) {
    Working scene(1, 3, false);
    Visitor stranger = scene.join(9);
    const Failure refused = Scene::refusal(stranger);
    assert_string_equal(refused.reason().c_str(), "closed");
    assert_true(refused.message().find("secret_file") != std::string::npos);
    assert_true(refused.message().find("elastic.open") != std::string::npos);
    scene.store.closed(scene.b.id, 0);
    Visitor b = scene.join(2, 1); // a member may come back
    assert_int_equal(b.last(), FrameKind::kWelcome);
    scene.store.reaped(2);
    Scene::ask(scene.a, {held(3, true, {{0, 3}})});
    assert_int_equal(scene.store.generation().number, 2);
    Visitor again = scene.join(2); // but not as a newcomer
    assert_string_equal(Scene::refusal(again).reason().c_str(), "closed");
}

/// Who came before the job formed, and found no place, is sent away as it forms.
void without_a_secret_nobody_waits_beside_the_first_generation(void **) {
    Scene scene(1, 2, false);
    Visitor a = scene.join(1), b = scene.join(2), c = scene.join(3);
    Scene::ask(a);
    Scene::ask(b);
    assert_int_equal(scene.store.generation().number, 1);
    assert_string_equal(Scene::refusal(c).reason().c_str(), "closed");
}

void members_that_lost_the_store_have_time_to_come_back(void **) {
    Working scene(1, 2);
    scene.pass(300 * kSecond);
    Visitor a = scene.join(1, 1);
    Scene::ask(a, {held(3, true, {{0, 2}})});
    scene.pass(9 * kSecond, {&a});
    assert_int_equal(scene.store.generation().number, 1);
    Visitor b = scene.join(2, 1);
    Scene::ask(b, {held(3, true, {{0, 2}})});
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().members.size(), 2);
}

void too_few_workers_fail_after_the_wait(void **) {
    Working scene(2, 2);
    Scene::ask(scene.a);
    scene.store.reaped(2);
    scene.pass(4 * kSecond, {&scene.a});
    assert_int_equal(scene.store.state(), ElasticStore::State::kOpen);
    scene.pass(2 * kSecond, {&scene.a});
    assert_string_equal(Scene::refusal(scene.a).reason().c_str(), "too_few_workers");
    Visitor late = scene.join(3);
    assert_string_equal(Scene::refusal(late).reason().c_str(), "too_few_workers");
}

void a_newcomer_fills_the_place_in_time(void **) {
    Working scene(2, 2);
    Scene::ask(scene.a);
    scene.store.reaped(2);
    scene.pass(4 * kSecond, {&scene.a});
    Visitor c = scene.join(3);
    Scene::ask(c);
    assert_int_equal(scene.store.generation().number, 2);
}

void a_commit_that_is_lost_fails_the_job(void **) {
    Working scene(1, 2);
    scene.store.reaped(2);
    Scene::ask(scene.a, {held(3, true, {{0, 1}})});
    const Failure failure = Scene::refusal(scene.a);
    assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
    assert_string_equal(failure.reason().c_str(), "replica_lost");
    assert_non_null(strstr(failure.message().c_str(), "replicas 1."));
}

/// Worker 1 has asked, and worker 2, which alone has the part of replica 1, is silent.
struct OnlyCopy : Working {
    OnlyCopy() : Working(1, 2) {
        Scene::ask(a, {held(3, true, {{0, 1}})});
        pass(12 * kSecond, {&a});
        assert_int_equal(store.state(), ElasticStore::State::kOpen);
    }
};

void a_silent_member_with_the_only_copy_is_waited_for(void **) {
    OnlyCopy scene;
    Visitor b = scene.join(2, 1);
    Scene::ask(b, {held(3, true, {{1, 2}})});
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(scene.store.generation().resume->number, 3);
}

void the_wait_for_the_only_copy_ends(void **) {
    OnlyCopy scene;
    scene.pass(6 * kSecond, {&scene.a});
    assert_string_equal(Scene::refusal(scene.a).reason().c_str(), "replica_lost");
    OnlyCopy other;
    other.store.reaped(2); // now it is proven dead
    assert_string_equal(Scene::refusal(other.a).reason().c_str(), "replica_lost");
}

void those_that_cannot_connect_are_dropped(void **) {
    Scene scene(1, 3);
    Visitor a = scene.join(1), b = scene.join(2), c = scene.join(3);
    for (Visitor *one : {&a, &b, &c}) Scene::ask(*one);
    scene.say(a, FrameKind::kMeshed);
    scene.say(b, FrameKind::kUnreachable, PayloadWriter().number(uint32_t{2}).take());
    assert_int_equal(scene.store.generation().number, 1);
    scene.say(c, FrameKind::kUnreachable, PayloadWriter().number(uint32_t{1}).take());
    const Failure refusal = Scene::refusal(c);
    assert_string_equal(refusal.reason().c_str(), "unreachable");
    assert_non_null(strstr(refusal.message().c_str(), "have reached the store, but cannot connect with each other"));
    assert_int_equal(scene.store.generation().number, 2);
    assert_int_equal(b.last(), FrameKind::kGeneration);
}

void strangers_to_the_job_are_turned_away_in_words(void **) {
    Scene scene(1, 2);
    Visitor a = scene.join(1);
    Visitor other = scene.join(2, 0, "a = 2\n");
    assert_non_null(strstr(Scene::refusal(other).message().c_str(), "a = 2"));
    Visitor fixed = scene.join(3, 0, "a = 1\n", Role::kJoin);
    assert_non_null(strstr(Scene::refusal(fixed).message().c_str(), "fixed size"));
    scene.job = "another";
    Visitor lost = scene.join(4);
    assert_string_equal(Scene::refusal(lost).reason().c_str(), "different_job");
    assert_int_equal(scene.world.closed.count(a.id), 0);
}

void a_store_that_was_stopped_blames_nobody(void **) {
    Working scene(1, 3);
    Scene::ask(scene.a);
    scene.world.now += 100 * kSecond; // the store did not run
    scene.store.tick();
    assert_int_equal(scene.store.generation().number, 1);
    scene.pass(5 * kSecond, {&scene.a, &scene.b});
    Scene::ask(scene.b);
    assert_int_equal(scene.store.generation().members.size(), 2);
}

void a_store_that_was_stopped_waits_as_long_as_it_should(void **) {
    Scene scene(2, 2);
    Visitor a = scene.join(1);
    Scene::ask(a);
    scene.pass(kSecond, {&a});
    scene.world.now += 100 * kSecond; // the store did not run, and b could not come
    scene.store.tick();
    assert_int_equal(scene.store.state(), ElasticStore::State::kOpen);
    Visitor b = scene.join(2);
    Scene::ask(b);
    assert_int_equal(scene.store.generation().members.size(), 2);
}

// ---- A store that comes back

/// Keeps what a store knows, in memory.
struct Kept {
    std::string bytes;
    uint32_t times = 0;
    ElasticStoreOptions options(const std::string &job = "job", uint32_t replicas = 2) {
        ElasticStoreOptions chosen{replicas, 1, 2, 5 * kSecond, 10 * kSecond, job, "", true};
        chosen.kept = bytes;
        chosen.keep = [this](const std::string &state) {
            bytes = state;
            ++times;
        };
        return chosen;
    }
};

void a_store_goes_on_only_from_the_state_of_its_own_job(void **) {
    FakeWorld world;
    Kept kept;
    {
        ElasticStore store(world, kept.options());
        Visitor a = Scene::join_at(world, store, 1, 1), b = Scene::join_at(world, store, 2, 2);
        Scene::ask(a);
        Scene::ask(b);
        assert_int_equal(store.generation().number, 1);
    }
    assert_int_equal(kept.times, 1);
    ElasticStore store(world, kept.options());
    assert_int_equal(store.generation().number, 1);
    assert_int_equal(store.state(), ElasticStore::State::kReady);
    const auto refusal = [&](const ElasticStoreOptions &options) {
        try {
            ElasticStore wrong(world, options);
        } catch (const Failure &failure) {
            return failure;
        }
        return Failure(MDIST_OK, "taken");
    };
    assert_string_equal(refusal(kept.options("other")).reason().c_str(), "different_job");
    assert_string_equal(refusal(kept.options("job", 3)).reason().c_str(), "different_job");
    const std::string whole = kept.bytes;
    for (std::size_t size = 1; size < whole.size(); ++size) {
        kept.bytes = whole.substr(0, size);
        assert_int_equal(refusal(kept.options()).status(), MDIST_ERR_DATA_LOSS);
    }
}

void a_store_that_comes_back_knows_who_leaves(void **) {
    const Holdings everything = {held(3, true, {{0, 2}})};
    FakeWorld world;
    Kept kept;
    {
        ElasticStore store(world, kept.options());
        Visitor a = Scene::join_at(world, store, 1, 1), b = Scene::join_at(world, store, 2, 2);
        for (Visitor *each : {&a, &b}) Scene::ask(*each);
        for (Visitor *each : {&a, &b})
            each->say(each->channel.pack(FrameKind::kMeshed, store.generation().session, {}));
        Scene::ask_and_leave(b, everything);
        world.now += 2 * kSecond;
        store.tick();
    }
    ElasticStore store(world, kept.options());
    Visitor a = Scene::join_at(world, store, 1, 1, 1), b = Scene::join_at(world, store, 2, 2, 1);
    for (Visitor *each : {&a, &b}) Scene::ask(*each, everything);
    assert_string_equal(Scene::refusal(b).reason().c_str(), "dismissed");
    const auto left = store.take_left_behind();
    assert_true(left.has_value());
    assert_int_equal(left->id, 2);
    assert_int_equal(left->how, MDIST_DEPARTURE_LEFT);
}

void a_job_that_is_over_leaves_no_state(void **) {
    FakeWorld world;
    Kept kept;
    ElasticStore store(world, kept.options());
    Visitor a = Scene::join_at(world, store, 1, 1), b = Scene::join_at(world, store, 2, 2);
    Scene::ask(a);
    Scene::ask(b);
    assert_false(kept.bytes.empty());
    store.reaped(1);
    store.reaped(2);
    assert_string_equal(store.failure()->reason().c_str(), "job_ended");
    assert_true(kept.bytes.empty());
    store.reaped(1);
    store.dismiss(2);
    world.now += 60 * kSecond;
    store.tick();
    assert_true(kept.bytes.empty());
}

/// Its folder is an old copy.
void a_worker_of_a_later_generation_is_told_so(void **) {
    Working scene(1, 2);
    Visitor later = scene.join(1, 7);
    const Failure refused = Scene::refusal(later);
    assert_non_null(strstr(refused.message().c_str(), "generation 7"));
    assert_non_null(strstr(refused.message().c_str(), "old copy"));
}

void a_store_of_fixed_size_turns_elastic_workers_away(void **) {
    FakeWorld world;
    FixedStore store(world, FixedStoreOptions{2, 0, "job", ""});
    store.accepted(1, "10.0.0.1");
    Visitor guest{world, store, 1};
    Hello hello;
    hello.role = Role::kElastic;
    hello.job = "job";
    Caller caller(hello, SessionId{}, "");
    guest.say(caller.hello(guest.channel));
    guest.listen();
    guest.say(caller.answer(guest.channel, guest.heard.back(), join_body("a = 1\n"), "it"));
    assert_string_equal(Scene::refusal(guest).reason().c_str(), "different_config");
}

} // namespace

SUBJECT(membership_elastic) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(replicas_are_dealt_in_order_and_evenly),
        cmocka_unit_test(the_newest_marked_and_whole_commit_is_taken),
        cmocka_unit_test(a_loss_names_the_replicas),
        cmocka_unit_test(commits_of_two_generations_do_not_mix),
        cmocka_unit_test(the_one_with_fewer_good_links_goes),
        cmocka_unit_test(those_that_are_left_reach_each_other),
        cmocka_unit_test(a_generation_is_read_as_it_was_written_or_not_at_all),
        cmocka_unit_test(a_generation_starts_when_all_are_there_and_connected),
        cmocka_unit_test(a_report_about_a_generation_that_was_replaced_does_not_count),
        cmocka_unit_test(members_that_are_to_leave_do_so_one_with_each_round),
        cmocka_unit_test(members_that_say_so_leave_as_soon_as_others_are_enough),
        cmocka_unit_test(who_is_dismissed_before_it_joins_is_refused_then),
        cmocka_unit_test(a_store_hears_of_commits_in_passing),
        cmocka_unit_test(nobody_leaves_a_job_that_would_not_begin_then),
        cmocka_unit_test(who_is_to_leave_stays_while_only_it_has_a_part),
        cmocka_unit_test(a_round_waits_for_a_member_that_is_heard_until_it_is_silent),
        cmocka_unit_test(a_member_that_was_missed_has_the_heartbeat_timeout_to_ask),
        cmocka_unit_test(a_member_that_was_missed_and_asks_in_time_stays),
        cmocka_unit_test(members_that_nobody_missed_have_half_of_the_limit),
        cmocka_unit_test(members_that_nobody_missed_have_the_heartbeat_timeout_at_least),
        cmocka_unit_test(a_member_that_may_have_the_rest_of_the_state_is_not_dropped),
        cmocka_unit_test(a_member_that_was_cut_off_has_time_to_ask),
        cmocka_unit_test(a_failed_job_names_the_members_that_may_still_run),
        cmocka_unit_test(a_member_that_was_reaped_is_not_waited_for),
        cmocka_unit_test(newcomers_cannot_go_on_without_a_member),
        cmocka_unit_test(without_a_secret_nobody_comes_after_the_first_generation),
        cmocka_unit_test(without_a_secret_nobody_waits_beside_the_first_generation),
        cmocka_unit_test(members_that_lost_the_store_have_time_to_come_back),
        cmocka_unit_test(too_few_workers_fail_after_the_wait),
        cmocka_unit_test(a_newcomer_fills_the_place_in_time),
        cmocka_unit_test(a_commit_that_is_lost_fails_the_job),
        cmocka_unit_test(a_silent_member_with_the_only_copy_is_waited_for),
        cmocka_unit_test(the_wait_for_the_only_copy_ends),
        cmocka_unit_test(those_that_cannot_connect_are_dropped),
        cmocka_unit_test(strangers_to_the_job_are_turned_away_in_words),
        cmocka_unit_test(a_store_that_was_stopped_blames_nobody),
        cmocka_unit_test(a_store_that_was_stopped_waits_as_long_as_it_should),
        cmocka_unit_test(a_store_goes_on_only_from_the_state_of_its_own_job),
        cmocka_unit_test(a_store_that_comes_back_knows_who_leaves),
        cmocka_unit_test(a_job_that_is_over_leaves_no_state),
        cmocka_unit_test(a_worker_of_a_later_generation_is_told_so),
        cmocka_unit_test(a_store_of_fixed_size_turns_elastic_workers_away),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
