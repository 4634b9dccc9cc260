// SPDX-License-Identifier: Apache-2.0
// One link out of shared memory within a host and sockets between hosts: who waits is woken by either.
#include "comm/links/routed.h"
#include "comm/links/shm.h"
#include "subject.h"
#include "util/clock.h"

#include <sys/socket.h>

#include "given_sockets.h"
#include "schedule_support.h"
#include "shm_support.h"

namespace {

using namespace mdist;

constexpr uint32_t kHosts = 2;
constexpr uint32_t kPerHost = 2;
constexpr uint32_t kWorkers = kHosts * kPerHost;
constexpr uint64_t kAwake[] = {0, 50'000}; // ns for which a wait may stay awake

bool same_host(uint32_t a, uint32_t b) {
    return a / kPerHost == b / kPerHost;
}

/// [a][b]: the socket that a has to b.
std::vector<std::vector<int>> connect_hosts() {
    std::vector<std::vector<int>> sockets(kWorkers, std::vector<int>(kWorkers, -1));
    for (uint32_t a = 0; a < kWorkers; ++a)
        for (uint32_t b = 0; b < a; ++b) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
            sockets[a][b] = ends[0];
            sockets[b][a] = ends[1];
        }
    return sockets;
}

std::unique_ptr<Link> make_link(test::Board &board, uint32_t rank, const std::vector<int> &sockets, uint64_t awake_ns) {
    auto mates = std::make_shared<ShmMates>(rank, kWorkers, test::test_sizes(kWorkers), 1);
    std::vector<std::string> offers = board.exchange(rank, 0, mates->offer());
    for (uint32_t other = 0; other < kWorkers; ++other)
        if (!same_host(rank, other)) offers[other] = "\nanother host";
    mates->settle(board.exchange(rank, 1, mates->open(offers)));
    if (mates->per_host() != kPerHost) throw Failure(MDIST_ERR_INTERNAL, "the hosts are not known");
    std::vector<std::unique_ptr<Link>> links;
    links.push_back(make_shm_link(mates, std::make_shared<ShmBell>(mates)));
    links.push_back(test::tcp_link(rank, sockets, awake_ns, false));
    std::vector<Link *> routes;
    for (uint32_t other = 0; other < kWorkers; ++other) routes.push_back(links[same_host(rank, other) ? 0 : 1].get());
    return make_routed_link(std::move(links), std::move(routes), awake_ns);
}

Links make_links(uint64_t awake_ns) {
    test::Board board(kWorkers);
    const auto sockets = connect_hosts();
    Links links(kWorkers);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kWorkers; ++rank)
        threads.emplace_back([&, rank] {
            test::run_one(board, rank, [&](test::Board &, uint32_t) {
                links[rank] = make_link(board, rank, sockets[rank], awake_ns);
                return std::string();
            });
        });
    for (std::thread &thread : threads) thread.join();
    for (uint32_t rank = 0; rank < kWorkers; ++rank) assert_string_equal(board.result(rank).c_str(), "");
    return links;
}

void check_schedules(uint64_t awake_ns) {
    const Links links = make_links(awake_ns);
    for (const uint32_t seed : seeds(20, 200)) {
        Random random(seed);
        const uint32_t per_host = seed % 2 == 0 ? kPerHost : 1;
        const ReduceJob job(random, random_spans(random, kWorkers, 3), reduce::Op::kSum,
                            {{MDIST_FLOAT32, 1 + random() % 50'000}}, true);
        const SplitPlan plan = random_plan(random, job.spans(), per_host);
        const Headers headers = random_headers(random);
        std::vector<Scratch> scratch(kWorkers);
        std::vector<std::unique_ptr<ReduceRow>> flats;
        for (uint32_t worker = 0; worker < kWorkers; ++worker)
            flats.push_back(std::make_unique<ReduceRow>(job.calls(worker), MDIST_FLOAT32, job.cut(), worker));
        const std::vector<Failure> failures = drive_in_threads(links, [&](uint32_t worker) {
            return make_split_sum(*links[worker], OperationHeader::of(job.call(0), seed + 1, 0), *flats[worker], plan,
                                  JoinPlan(job.spans(), per_host), scratch[worker], 0, headers);
        });
        for (uint32_t worker = 0; worker < kWorkers; ++worker) {
            assert_string_equal(failures[worker].what(), "");
            assert_true(job.right(worker));
        }
    }
}

void schedules_go_over_both_links(void **) {
    for (const uint64_t awake_ns : kAwake) check_schedules(awake_ns);
}

void an_interrupt_ends_a_wait_that_has_nothing_to_wait_for(void **) {
    for (const uint64_t awake_ns : kAwake) {
        const Links links = make_links(awake_ns);
        links[0]->interrupt();
        links[0]->wait(600'000'000'000);
    }
}

/// A wait that an old interrupt ends again and again is made millions of times each second.
void an_interrupt_ends_no_later_waits(void **) {
    constexpr uint64_t kWaitNs = 20'000'000, kAllNs = 200'000'000;
    for (const uint64_t awake_ns : kAwake) {
        const Links links = make_links(awake_ns);
        Pending mate, other;
        char bytes[2];
        links[0]->receive(1, 7, &bytes[0], 1, mate);
        links[0]->receive(2, 7, &bytes[1], 1, other);
        links[0]->interrupt(); // before anything that the link could learn from
        uint32_t waits = 0;
        for (const uint64_t end = monotonic_clock().now_ns() + kAllNs; monotonic_clock().now_ns() < end; ++waits) {
            links[0]->progress();
            links[0]->wait(kWaitNs);
        }
        assert_in_range(waits, 0, 5000); // a busy machine makes fewer
        for (const auto &link : links) link->close();
    }
}

void whoever_waits_for_either_link_is_told_of_a_loss(void **) {
    for (const uint32_t lost : {1u, 2u}) { // a mate, and one on the other host
        const Links links = make_links(kAwake[lost % 2]);
        Pending mate, other, theirs;
        char bytes[3];
        links[lost]->receive(0, 7, &bytes[2], 1, theirs); // so it has a connection that it can close
        links[lost]->progress();
        links[0]->receive(1, 7, &bytes[0], 1, mate);
        links[0]->receive(2, 7, &bytes[1], 1, other);
        std::thread closer([&] { links[lost]->close(); });
        const Failure failure = failure_of([&] {
            while (!mate.done() || !other.done()) {
                links[0]->progress();
                links[0]->wait(600'000'000'000);
            }
        });
        closer.join();
        assert_int_equal(failure.status(), MDIST_ERR_PEER_LOST);
        assert_int_equal(failure.worker(), lost);
    }
}

} // namespace

SUBJECT(link_routed) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(schedules_go_over_both_links),
        cmocka_unit_test(an_interrupt_ends_a_wait_that_has_nothing_to_wait_for),
        cmocka_unit_test(an_interrupt_ends_no_later_waits),
        cmocka_unit_test(whoever_waits_for_either_link_is_told_of_a_loss),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
