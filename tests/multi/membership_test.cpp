// SPDX-License-Identifier: Apache-2.0
// Membership among real processes: forming, exchanges, data connections, departures and losses.
#include "workers.h"

#include "comm/membership/store_service.h"
#include "util/failure.h"

#include <csignal>
#include <cstring>

#include <poll.h>
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

std::string store_of(const char *test) {
    // A port for each test, on a host of this process alone.
    static uint16_t port = 4400;
    static_cast<void>(test);
    return text(own_host(), ':', port++);
}

MembershipOptions chief_serves(uint32_t rank, uint32_t size, const std::string &store) {
    MembershipOptions options = options_for(rank, size, store);
    options.serves_store = rank == 0;
    return options;
}

/// One byte each way over a non-blocking socket.
bool talk(int descriptor, char mine, char *theirs) {
    if (write(descriptor, &mine, 1) != 1) return false;
    pollfd wait = {descriptor, POLLIN, 0};
    return poll(&wait, 1, 20'000) == 1 && read(descriptor, theirs, 1) == 1;
}

void workers_form_a_group_and_exchange(void **) {
    for (uint32_t size = 1; size <= 8; ++size) {
        const std::string store = store_of(__func__);
        Team team;
        for (uint32_t rank = 0; rank < size; ++rank)
            team.start(rank, [&](uint32_t me, const Say &say) {
                Membership group(chief_serves(me, size, store));
                std::string all;
                for (int round = 0; round < 3; ++round)
                    for (const std::string &blob : group.exchange(text(me, '.', round, ' '), 20 * kSecond)) all += blob;
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

void every_pair_gets_the_data_connections_it_asks_for(void **) {
    const std::string store = store_of(__func__);
    constexpr uint32_t kSize = 4;
    Team team;
    for (uint32_t rank = 0; rank < kSize; ++rank)
        team.start(rank, [&](uint32_t me, const Say &say) {
            Membership group(chief_serves(me, kSize, store));
            std::vector<uint32_t> others;
            for (uint32_t other = 0; other < kSize; ++other)
                if (other != me) others.push_back((other));
            std::string heard;
            for (char round = 'a'; round < 'd'; ++round) {
                const auto sockets = group.connect(others, 20 * kSecond);
                for (std::size_t i = 0; i < sockets.size(); ++i) {
                    const char mine = static_cast<char>(round + static_cast<char>(me) * 4);
                    char theirs = '?';
                    if (!talk(sockets[i], mine, &theirs)) theirs = '!';
                    heard += theirs == static_cast<char>(round + static_cast<char>(others[i]) * 4) ? "ok " : "wrong ";
                }
                for (const int socket : sockets) close(socket);
            }
            say(heard);
        });
    for (uint32_t rank = 0; rank < kSize; ++rank) {
        assert_string_equal(team.next_line(rank).c_str(), "ok ok ok ok ok ok ok ok ok ");
        assert_true(team.join(rank));
    }
}

/// Says when it is there, then what its group fails of.
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
    const std::string store = store_of(__func__);
    constexpr uint32_t kSize = 4;
    Team team;
    for (uint32_t rank = 0; rank < kSize; ++rank)
        team.start(rank, [&](uint32_t me, const Say &say) { wait_for_failure(chief_serves(me, kSize, store), say); });
    for (uint32_t rank = 0; rank < kSize; ++rank) assert_string_equal(team.next_line(rank).c_str(), "ready");
    team.signal(2, SIGKILL);
    for (const uint32_t rank : {0, 1, 3}) {
        const std::string line = team.next_line(rank);
        assert_ptr_equal(strstr(line.c_str(), "PEER_LOST - worker 2: worker 2 (127."), line.c_str());
        assert_true(team.join(rank));
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(workers_form_a_group_and_exchange),
        cmocka_unit_test(every_pair_gets_the_data_connections_it_asks_for),
        cmocka_unit_test(a_killed_worker_is_lost_to_all_others),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
