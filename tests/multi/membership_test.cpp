// SPDX-License-Identifier: Apache-2.0
// Tests membership among real processes: forming, exchanges, data connections, departures and losses.
#include "workers.h"

#include "time_limits.h"

#include "membership/net/reactor.h"
#include "membership/protocol/secret.h"
#include "membership/store/store_service.h"
#include "membership/worker/data_sockets.h"
#include "util/failure.h"
#include "util/log.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <semaphore>

#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;
using namespace mdist::test;

/// Returns a new port for each test, at an address that only this process uses.
std::string new_store() {
    static uint16_t port = 4400;
    return text(own_host(), ':', port++);
}

bool begins(const std::string &line, const std::string &with) {
    if (line.starts_with(with)) return true;
    print_error("no \"%s\" at the start of: %s\n", with.c_str(), line.c_str());
    return false;
}
bool contains(const std::string &line, const std::string &words) {
    if (line.find(words) != std::string::npos) return true;
    print_error("no \"%s\" in: %s\n", words.c_str(), line.c_str());
    return false;
}

MembershipOptions chief_serves(uint32_t rank, uint32_t size, const std::string &store) {
    MembershipOptions options = options_for(rank, size, store);
    options.serves_store = rank == 0;
    return options;
}

/// Sends one byte each way over a non-blocking socket.
bool talk(int descriptor, char mine, char *theirs) {
    if (write(descriptor, &mine, 1) != 1) return false;
    pollfd wait = {descriptor, POLLIN, 0};
    return poll(&wait, 1, 20'000) == 1 && read(descriptor, theirs, 1) == 1;
}

std::atomic<bool> no_memory{false};

void workers_form_a_group_and_exchange(void **) {
    for (uint32_t size = 1; size <= 8; ++size) {
        const std::string store = new_store();
        WorkerTeam team;
        for (uint32_t rank = 0; rank < size; ++rank)
            team.start(rank, [&](uint32_t me, const Say &say) {
                Membership group(chief_serves(me, size, store));
                std::string all;
                for (int round = 0; round < 3; ++round)
                    for (const std::string &blob : group.exchange(text(me, '.', round, ' '), kLongEnough)) all += blob;
                say(all);
            });
        std::string expected;
        for (int round = 0; round < 3; ++round)
            for (uint32_t rank = 0; rank < size; ++rank) expected += text(rank, '.', round, ' ');
        for (uint32_t rank = 0; rank < size; ++rank) {
            assert_string_equal(team.next_line(rank).c_str(), expected.c_str());
            assert_true(team.join(rank));
        }
    }
}

void every_pair_gets_the_data_connections_that_one_of_them_asks_for(void **) {
    const std::string store = new_store();
    constexpr uint32_t kSize = 4;
    WorkerTeam team;
    for (uint32_t rank = 0; rank < kSize; ++rank)
        team.start(rank, [&](uint32_t me, const Say &say) {
            Membership group(chief_serves(me, kSize, store));
            std::string heard;
            for (char round = 'a'; round < 'd'; ++round) {
                const uint32_t link = group.number_link();
                std::counting_semaphore<64> news(0);
                group.when_connected(link, [&news] { news.release(); });
                // Only one side asks in the first two rounds.
                for (uint32_t other = 0; other < kSize; ++other)
                    if (other != me && (round == 'c' || (round == 'a') == (other < me)))
                        group.ask_for_socket(link, other);
                for (uint32_t other = 0; other < kSize; ++other) {
                    if (other == me) continue;
                    int socket = -1;
                    while ((socket = group.take_socket(link, other)) == DataSockets::kNotYet)
                        static_cast<void>(news.try_acquire_for(std::chrono::minutes(2)));
                    const char mine = static_cast<char>(round + static_cast<char>(me) * 4);
                    char theirs = '?';
                    if (!talk(socket, mine, &theirs)) theirs = '!';
                    heard += theirs == static_cast<char>(round + static_cast<char>(other) * 4) ? "ok " : "wrong ";
                    close(socket);
                }
                group.end_link(link);
            }
            say(heard);
        });
    for (uint32_t rank = 0; rank < kSize; ++rank) {
        assert_string_equal(team.next_line(rank).c_str(), "ok ok ok ok ok ok ok ok ok ");
        assert_true(team.join(rank));
    }
}

void without_memory_a_worker_can_still_leave(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    for (const uint32_t rank : {0, 1})
        team.start(rank, [&](uint32_t me, const Say &say) {
            Membership group(chief_serves(me, 2, store));
            group.exchange("", kLongEnough);
            no_memory = me == 1;
            group.leave();
            no_memory = false;
            say("left");
        });
    for (const uint32_t rank : {0, 1}) {
        assert_string_equal(team.next_line(rank).c_str(), "left");
        assert_true(team.join(rank));
    }
}

/// Says when it has joined, then why its group failed.
void wait_for_failure(const MembershipOptions &options, const Say &say) {
    Membership group(options);
    int ends[2];
    if (pipe(ends) != 0) return;
    group.when_failed([&](const Failure &) { static_cast<void>(!write(ends[1], "x", 1)); });
    say("ready");
    pollfd wait = {ends[0], POLLIN, 0};
    poll(&wait, 1, 50'000);
    const auto failure = group.failure();
    say(failure ? told(*failure) : "no failure");
}

void a_killed_worker_is_lost_to_all_others(void **) {
    const std::string store = new_store();
    constexpr uint32_t kSize = 4;
    WorkerTeam team;
    for (uint32_t rank = 0; rank < kSize; ++rank)
        team.start(rank, [&](uint32_t me, const Say &say) { wait_for_failure(chief_serves(me, kSize, store), say); });
    for (uint32_t rank = 0; rank < kSize; ++rank) assert_string_equal(team.next_line(rank).c_str(), "ready");
    team.signal(2, SIGKILL);
    for (const uint32_t rank : {0, 1, 3}) {
        assert_true(begins(team.next_line(rank), "PEER_LOST - worker 2: worker 2 (127."));
        assert_true(team.join(rank));
    }
}

/// Tells whether the line begins with the words. If not, a status that lateness explains makes another try.
bool begins_in_time(Tries &tries, const std::string &line, const std::string &with) {
    if (line.starts_with(with)) return true;
    print_error("no \"%s\" at the start of: %s\n", with.c_str(), line.c_str());
    assert_true(line.starts_with("PEER_LOST") || line.starts_with("TIMEOUT") || line.starts_with("ABORTED"));
    tries.late = 1;
    return false;
}

void a_stopped_worker_is_lost_by_its_silence(void **) {
    constexpr uint32_t kSize = 3;
    Tries tries = {"a stopped worker", kFirstLimitMs, 0, 0};
    while (another_try(&tries)) {
        const std::string store = new_store();
        WorkerTeam team;
        for (uint32_t rank = 0; rank < kSize; ++rank)
            team.start(rank, [&](uint32_t me, const Say &say) {
                MembershipOptions options = chief_serves(me, kSize, store);
                options.heartbeat_timeout_ns = tries.limit_ms * kMillisecond;
                wait_for_failure(options, say);
            });
        for (uint32_t rank = 0; rank < kSize; ++rank) begins_in_time(tries, team.next_line(rank), "ready");
        if (tries.late) continue;
        team.signal(1, SIGSTOP);
        for (const uint32_t rank : {0, 2})
            begins_in_time(tries, team.next_line(rank), "PEER_LOST - worker 1: worker 1 (127.");
        team.signal(1, SIGCONT);
        // It blames nobody else for the time it slept. Either it was told, or it sees that the others have gone.
        begins_in_time(tries, team.next_line(1), "PEER_LOST");
    }
    assert_false(tries.late);
}

void a_worker_that_leaves_is_missed_by_the_next_operation_only(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    team.start(0, [&](uint32_t, const Say &say) {
        Membership group(chief_serves(0, 2, store));
        group.set_entered(3);
        group.exchange("", kLongEnough);
        group.exchange("", kLongEnough); // the other one leaves after it
        group.set_entered(3);
        say(group.failure() ? "failed" : "good");
        try {
            group.exchange("", kLongEnough);
        } catch (const Failure &failure) {
            say(told(failure));
        }
    });
    team.start(1, [&](uint32_t, const Say &say) {
        Membership group(chief_serves(1, 2, store));
        group.set_entered(3);
        group.exchange("", kLongEnough);
        group.exchange("", kLongEnough);
        say("left");
    });
    assert_string_equal(team.next_line(1).c_str(), "left");
    assert_string_equal(team.next_line(0).c_str(), "good");
    assert_true(begins(team.next_line(0), "PEER_LOST left worker 1: worker 1 (127."));
}

void one_workers_failure_is_everybodys_with_the_same_words(void **) {
    constexpr uint32_t kSize = 3;
    Tries tries = {"one worker's failure", kFirstLimitMs, 0, 0};
    while (another_try(&tries)) {
        const std::string store = new_store();
        WorkerTeam team;
        for (uint32_t rank = 0; rank < kSize; ++rank)
            team.start(rank, [&](uint32_t me, const Say &say) {
                if (me != 1) return wait_for_failure(chief_serves(me, kSize, store), say);
                Membership group(chief_serves(me, kSize, store));
                say("ready");
                group.exchange("", tries.limit_ms * kMillisecond); // nobody else does
            });
        for (uint32_t rank = 0; rank < kSize; ++rank) assert_string_equal(team.next_line(rank).c_str(), "ready");
        const std::string first = team.next_line(1);
        assert_true(begins(first, "TIMEOUT - worker 0: worker 0 (127."));
        for (const uint32_t rank : {0, 2}) assert_string_equal(team.next_line(rank).c_str(), first.c_str());
    }
    assert_false(tries.late);
}

void a_missing_worker_is_named_when_the_time_is_up(void **) {
    Tries tries = {"a missing worker", kFirstLimitMs, 0, 0};
    while (another_try(&tries)) {
        const std::string store = new_store();
        const uint64_t limit_ns = tries.limit_ms * kMillisecond;
        WorkerTeam team;
        for (const uint32_t rank : {0u, 2u})
            team.start(rank, [&](uint32_t me, const Say &) {
                MembershipOptions options = chief_serves(me, 4, store);
                options.names = {"worker 0 (a:1)", "worker 1 (b:1)", "worker 2 (c:1)", "worker 3 (d:1)"};
                options.join_timeout_ns = limit_ns;
                Membership group(options);
            });
        const std::string line = team.next_line(0);
        const std::string words = text("TIMEOUT - worker 1: not all workers joined within ", seconds_text(limit_ns),
                                       ": 2 of 4 workers have joined; missing: 1, 3");
        if (begins_in_time(tries, line, words)) assert_true(contains(line, "worker 1 (b:1), worker 3 (d:1)"));
        begins_in_time(tries, team.next_line(2), "TIMEOUT");
    }
    assert_false(tries.late);
}

void nobody_at_the_store_is_a_timeout_that_says_so(void **) {
    Tries tries = {"nobody at the store", kFirstLimitMs, 0, 0};
    while (another_try(&tries)) {
        const std::string store = new_store();
        const uint64_t limit_ns = tries.limit_ms * kMillisecond;
        WorkerTeam team;
        team.start(1, [&](uint32_t, const Say &) {
            MembershipOptions options = options_for(1, 2, store);
            options.join_timeout_ns = limit_ns;
            Membership group(options);
        });
        const std::string line = team.next_line(1);
        assert_true(
            begins(line, text("TIMEOUT - worker none: the store at ", store,
                              " (an address of this host only) could not be reached within ", seconds_text(limit_ns))));
        tries.late = !contains(line, "Connection refused"); // no attempt was over
    }
    assert_false(tries.late);
}

void a_store_that_says_nothing_is_not_called_out_of_reach(void **) {
    const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    assert_int_equal(bind(silent, reinterpret_cast<sockaddr *>(&at), length), 0);
    assert_int_equal(listen(silent, 64), 0); // the kernel takes connections, and nobody accepts them
    assert_int_equal(getsockname(silent, reinterpret_cast<sockaddr *>(&at), &length), 0);
    const std::string store = text("127.0.0.1:", ntohs(at.sin_port));
    Tries tries = {"a store that says nothing", kFirstLimitMs, 0, 0};
    while (another_try(&tries)) {
        const uint64_t limit_ns = tries.limit_ms * kMillisecond;
        WorkerTeam team;
        team.start(1, [&](uint32_t, const Say &) {
            MembershipOptions options = options_for(1, 2, store);
            options.join_timeout_ns = limit_ns;
            Membership group(options);
        });
        const std::string line = team.next_line(1);
        assert_true(begins(line, text("TIMEOUT - worker none: the store at ", store)));
        tries.late = contains(line, "could not be reached"); // not even the kernel had its turn
        if (!tries.late)
            assert_true(contains(line, text(" did not let this worker join within ", seconds_text(limit_ns))));
    }
    assert_false(tries.late);
    close(silent);
}

/// Starts two workers of a job. `change` changes the options of the second. Returns what that one says.
std::string refusal(const std::function<void(MembershipOptions &)> &change) {
    const std::string store = new_store();
    WorkerTeam team;
    team.start(0, [&](uint32_t, const Say &) { Membership group(chief_serves(0, 2, store)); });
    team.start(1, [&](uint32_t, const Say &) {
        MembershipOptions options = options_for(1, 2, store);
        change(options);
        Membership group(options);
    });
    return team.next_line(1);
}

void who_does_not_belong_is_told_why(void **) {
    assert_true(begins(refusal([](auto &options) { options.job = "other"; }), "CONFIG different_job"));
    assert_true(begins(refusal([](auto &options) { options.size = 3; }), "CONFIG different_size"));
    const std::string config = refusal([](auto &options) { options.agreement = "timeout = 5 s\n"; });
    assert_true(begins(config, "CONFIG different_config"));
    assert_true(contains(config, "\"timeout = 600 s\" there, \"timeout = 5 s\" here"));
}

/// Serves the store in its own process, and says its progress whenever that changes.
void be_launcher(const std::string &store, uint32_t size, const Say &say) {
    FixedStoreOptions options;
    options.size = size;
    options.job = "test";
    StoreService service(store, options, kLongEnough);
    std::string before;
    for (;;) {
        const std::string progress = service.state().progress;
        if (progress != before) say(progress);
        before = progress;
        nap();
    }
}

void the_first_of_two_of_one_rank_keeps_its_place(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    const Work work = [&](uint32_t me, const Say &say) { wait_for_failure(options_for(me % 10, 2, store), say); };
    team.start(100, [&](uint32_t, const Say &say) { be_launcher(store, 2, say); });
    assert_string_equal(team.next_line(100).c_str(), "0 of 2 workers have joined; missing: 0, 1");
    team.start(1, work);
    assert_string_equal(team.next_line(100).c_str(), "1 of 2 workers have joined; missing: 0");
    team.start(11, work);
    assert_true(begins(team.next_line(11), "FAILED_PRECONDITION duplicate_rank worker 1"));
    team.start(0, work);
    for (const uint32_t rank : {0, 1}) assert_string_equal(team.next_line(rank).c_str(), "ready");
    // With the first worker gone, the session is gone, too, and its place is free. The launcher's store goes on, too.
    team.signal(1, SIGKILL);
    assert_true(begins(team.next_line(0), "PEER_LOST - worker 1"));
    team.start(0, work);
    team.start(11, work);
    for (const uint32_t rank : {0, 11}) assert_string_equal(team.next_line(rank).c_str(), "ready");
    // The store does not lead the session, so the session goes on without it.
    team.signal(100, SIGKILL);
    team.signal(11, SIGKILL);
    assert_true(begins(team.next_line(0), "PEER_LOST - worker 1"));
}

void a_stale_worker_is_refused(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    for (uint32_t rank = 0; rank < 2; ++rank)
        team.start(rank, [&](uint32_t me, const Say &say) {
            MembershipOptions options = chief_serves(me, 2, store);
            options.restart = 3;
            wait_for_failure(options, say);
        });
    for (uint32_t rank = 0; rank < 2; ++rank) assert_string_equal(team.next_line(rank).c_str(), "ready");
    for (const uint32_t restart : {2u, 3u}) { // a worker of an earlier start, and one too many of this start
        team.start(5, [&](uint32_t, const Say &) {
            MembershipOptions options = options_for(1, 2, store);
            options.restart = restart;
            Membership group(options);
        });
        assert_true(begins(team.next_line(5), "FAILED_PRECONDITION stale_session"));
    }
    team.signal(0, SIGKILL); // they were not disturbed
    assert_true(begins(team.next_line(1), "PEER_LOST - worker 0"));
}

void without_the_secret_there_is_no_way_in(void **) {
    if (!secrets_are_built()) skip();
    const std::string store = new_store();
    WorkerTeam team;
    const auto with_secret = [&](uint32_t me, const std::string &secret) {
        MembershipOptions options = chief_serves(me, 2, store);
        options.secret = secret;
        return options;
    };
    team.start(0, [&](uint32_t, const Say &say) { wait_for_failure(with_secret(0, "right"), say); });
    team.start(7, [&](uint32_t, const Say &) { Membership group(with_secret(1, "wrong")); });
    assert_true(begins(team.next_line(7), "UNAUTHENTICATED"));
    team.start(8, [&](uint32_t, const Say &) { Membership group(with_secret(1, "")); });
    const std::string none = team.next_line(8);
    assert_true(begins(none, "UNAUTHENTICATED"));
    assert_true(contains(none, "secret_file"));
    team.start(1, [&](uint32_t, const Say &say) { wait_for_failure(with_secret(1, "right"), say); });
    for (const uint32_t rank : {0, 1}) assert_string_equal(team.next_line(rank).c_str(), "ready");
}

void a_taken_port_and_a_foreign_address_are_told_at_once(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    team.start(0, [&](uint32_t, const Say &say) { wait_for_failure(chief_serves(0, 1, store), say); });
    assert_string_equal(team.next_line(0).c_str(), "ready");
    team.start(1, [&](uint32_t, const Say &) { Membership group(chief_serves(0, 1, store)); });
    const std::string taken = team.next_line(1);
    assert_true(begins(taken, "RESOURCE address_in_use"));
    assert_true(contains(taken, store));
    team.start(2, [&](uint32_t, const Say &) { Membership group(chief_serves(0, 1, "192.0.2.1:4400")); });
    assert_true(begins(team.next_line(2), "CONFIG address_not_local"));
    team.start(3, [&](uint32_t, const Say &) {
        MembershipOptions options = options_for(1, 2, "no-such-host.invalid:1");
        options.join_timeout_ns = kSecond;
        Membership group(options);
    });
    const std::string unknown = team.next_line(3);
    assert_true(begins(unknown, "NOT_FOUND name_resolution"));
    assert_true(contains(unknown, "; tried for "));
}

ListenAt within(uint16_t first, uint16_t last) {
    ListenAt settings;
    settings.first_port = first;
    settings.last_port = last;
    return settings;
}

void a_worker_takes_the_first_free_one_of_its_ports(void **) {
    const std::string store = new_store();
    Reactor other([] {});
    const uint16_t taken = other.listen_at({"127.0.0.1", 0}).port;
    WorkerTeam team;
    for (const uint32_t rank : {0, 1})
        team.start(rank, [&](uint32_t me, const Say &say) {
            MembershipOptions options = chief_serves(me, 2, store);
            options.listen_at = within(taken, static_cast<uint16_t>(taken + 50));
            wait_for_failure(options, say);
        });
    for (const uint32_t rank : {0, 1}) assert_string_equal(team.next_line(rank).c_str(), "ready");
}

void ports_that_are_all_taken_are_told_at_once(void **) {
    const std::string store = new_store();
    Reactor other([] {});
    const uint16_t port = other.listen_at({"127.0.0.1", 0}).port;
    WorkerTeam team;
    team.start(0, [&](uint32_t, const Say &) {
        MembershipOptions options = chief_serves(0, 2, store);
        options.listen_at = within(port, port);
        Membership group(options);
    });
    const std::string none = team.next_line(0);
    assert_true(begins(none, "RESOURCE address_in_use"));
    assert_true(contains(none, text("communication.ports, ", port, '-', port, ", is free; 1 was tried")));
}

void a_worker_that_starts_over_listens_at_its_only_port_again(void **) {
    Reactor store([] {}), worker([] {});
    const ConnectionId connection = worker.connect(store.listen_at({own_host(), 0}));
    const uint16_t port = worker.listen(connection).port; // taken by the worker, which then has no other
    worker.set_listen_at(within(port, port));
    for (int time = 0; time < 3; ++time) assert_int_equal(worker.listen(connection).port, port);
}

void an_interface_is_listened_at_or_told_with_those_there_are(void **) {
    Reactor store([] {}), worker([] {});
    const ConnectionId connection = worker.connect(store.listen_at({own_host(), 0}));
    ListenAt settings;
    settings.interface = "lo";
    worker.set_listen_at(settings);
    assert_string_equal(worker.listen(connection).host.c_str(), "127.0.0.1");
    WorkerTeam team;
    const std::string nobody = new_store(); // an unknown interface is told before the store answers
    team.start(1, [&](uint32_t, const Say &) {
        MembershipOptions options = options_for(1, 2, nobody);
        options.listen_at.interface = "mdist7";
        Membership group(options);
    });
    const std::string unknown = team.next_line(1);
    assert_true(begins(unknown, "CONFIG no_interface"));
    assert_true(contains(unknown, "\"mdist7\", which this host does not have; this host has "));
    assert_true(contains(unknown, "lo (127.0.0.1"));
}

void the_others_are_told_another_address_than_is_listened_at(void **) {
    Reactor store([] {}), worker([] {});
    const ConnectionId connection = worker.connect(store.listen_at({own_host(), 0}));
    ListenAt settings;
    settings.host = "0.0.0.0";
    worker.set_listen_at(settings);
    const Endpoint everywhere = worker.listen(connection);
    assert_string_equal(everywhere.host.c_str(), ""); // as the store sees it
    assert_true(everywhere.port != 0);
    settings.told.host = "203.0.113.7";
    settings.told.port = 31000;
    worker.set_listen_at(settings);
    const Endpoint told = worker.listen(connection);
    assert_string_equal(text_of(told).c_str(), "203.0.113.7:31000");
    settings.told.host.clear();
    settings.told.port = 0;
    settings.host = "::";
    worker.set_listen_at(settings);
    try {
        worker.listen(connection);
        fail();
    } catch (const Failure &failure) {
        assert_true(failure.reason() == "no_address" || failure.native() == EAFNOSUPPORT); // a host without IPv6
    }
}

void a_job_too_large_for_the_descriptors_is_refused_at_once(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    team.start(0, [&](uint32_t me, const Say &) { // which serves the store
        const rlimit few = {256, 256};
        setrlimit(RLIMIT_NOFILE, &few);
        MembershipOptions options = chief_serves(me, 250, store);
        options.join_timeout_ns = kLongEnough;
        Membership group(options);
    });
    const std::string line = team.next_line(0);
    assert_true(begins(line, "RESOURCE - "));
    assert_true(contains(line,
                         "a job of 250 workers needs at least 282 file descriptors in each process, but this process "
                         "may open only 256"));
    assert_true(contains(line, "ulimit -n 564"));
}

void the_group_forms_again_after_a_loss(void **) {
    const std::string store = new_store();
    constexpr uint32_t kSize = 3;
    WorkerTeam team;
    const Work work = [&](uint32_t me, const Say &say) {
        for (int life = 0; life < 2; ++life) {
            try {
                Membership group(chief_serves(me, kSize, store));
                group.exchange("", kLongEnough);
                say("ready");
                group.exchange("", kLongEnough); // in the first life, one never comes
                say("done");
                return;
            } catch (const Failure &failure) {
                say(told(failure));
            }
        }
    };
    for (uint32_t rank = 0; rank < kSize; ++rank)
        team.start(rank, rank != 2 ? work : Work([&](uint32_t me, const Say &say) {
                       Membership group(chief_serves(me, kSize, store));
                       group.exchange("", kLongEnough);
                       say("ready");
                       raise(SIGKILL);
                   }));
    for (uint32_t rank = 0; rank < kSize; ++rank) assert_string_equal(team.next_line(rank).c_str(), "ready");
    for (const uint32_t rank : {0, 1}) assert_true(begins(team.next_line(rank), "PEER_LOST - worker 2"));
    team.start(2, work);
    for (const uint32_t rank : {0, 1, 2}) {
        assert_string_equal(team.next_line(rank).c_str(), "ready");
        assert_string_equal(team.next_line(rank).c_str(), "done");
    }
}

void a_forked_child_does_not_keep_its_dead_parent_alive(void **) {
    const std::string store = new_store();
    WorkerTeam team;
    team.start(0, [&](uint32_t, const Say &say) { wait_for_failure(chief_serves(0, 2, store), say); });
    team.start(1, [&](uint32_t, const Say &say) {
        Membership group(chief_serves(1, 2, store));
        const int child = fork();
        if (child == 0) { // the child lives on, with whatever it has inherited
            prctl(PR_SET_PDEATHSIG, 0);
            alarm(40);
            pause();
            _exit(0);
        }
        say(text(child));
        pause();
    });
    assert_string_equal(team.next_line(0).c_str(), "ready");
    const int child = std::atoi(team.next_line(1).c_str());
    team.signal(1, SIGKILL);
    assert_true(begins(team.next_line(0), "PEER_LOST - worker 1"));
    assert_int_equal(kill(child, SIGKILL), 0); // it was alive
}

} // namespace

/// For fault/shortage_new.cpp: C++ allocations fail while this is not 0.
extern "C" int shortage_refuses_memory(void) {
    return no_memory.load() ? 1 : 0;
}

int main() {
    log::set_level(MDIST_LOG_ERROR); // what is refused is told as a warning
    const CMUnitTest tests[] = {
        cmocka_unit_test(workers_form_a_group_and_exchange),
        cmocka_unit_test(every_pair_gets_the_data_connections_that_one_of_them_asks_for),
        cmocka_unit_test(without_memory_a_worker_can_still_leave),
        cmocka_unit_test(a_killed_worker_is_lost_to_all_others),
        cmocka_unit_test(a_stopped_worker_is_lost_by_its_silence),
        cmocka_unit_test(a_worker_that_leaves_is_missed_by_the_next_operation_only),
        cmocka_unit_test(one_workers_failure_is_everybodys_with_the_same_words),
        cmocka_unit_test(a_missing_worker_is_named_when_the_time_is_up),
        cmocka_unit_test(nobody_at_the_store_is_a_timeout_that_says_so),
        cmocka_unit_test(a_store_that_says_nothing_is_not_called_out_of_reach),
        cmocka_unit_test(who_does_not_belong_is_told_why),
        cmocka_unit_test(the_first_of_two_of_one_rank_keeps_its_place),
        cmocka_unit_test(a_stale_worker_is_refused),
        cmocka_unit_test(without_the_secret_there_is_no_way_in),
        cmocka_unit_test(a_taken_port_and_a_foreign_address_are_told_at_once),
        cmocka_unit_test(a_worker_takes_the_first_free_one_of_its_ports),
        cmocka_unit_test(ports_that_are_all_taken_are_told_at_once),
        cmocka_unit_test(a_worker_that_starts_over_listens_at_its_only_port_again),
        cmocka_unit_test(an_interface_is_listened_at_or_told_with_those_there_are),
        cmocka_unit_test(the_others_are_told_another_address_than_is_listened_at),
        cmocka_unit_test(a_job_too_large_for_the_descriptors_is_refused_at_once),
        cmocka_unit_test(the_group_forms_again_after_a_loss),
        cmocka_unit_test(a_forked_child_does_not_keep_its_dead_parent_alive),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
