// SPDX-License-Identifier: Apache-2.0
// The tcp link over real sockets: what it moves, and what it says when a peer is gone or disagrees.
#include "given_sockets.h"
#include "subject.h"

#include <atomic>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schedule_support.h"

namespace {

using namespace mdist;

enum class Sockets { kUnix, kLoopback };

void connect_pair(Sockets kind, int (&ends)[2]) {
    if (kind == Sockets::kUnix) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) fail();
        return;
    }
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, reinterpret_cast<sockaddr *>(&address), bytes) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr *>(&address), &bytes) != 0 ||
        connect(ends[0], reinterpret_cast<sockaddr *>(&address), bytes) != 0)
        fail();
    ends[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    close(listener);
}

Links make_links(uint32_t parties, Sockets kind, uint64_t spin_ns = 0, bool checksums = false) {
    std::vector<std::vector<int>> sockets(parties, std::vector<int>(parties, -1));
    for (uint32_t a = 0; a < parties; ++a)
        for (uint32_t b = 0; b < a; ++b) {
            int ends[2];
            connect_pair(kind, ends);
            sockets[a][b] = ends[0];
            sockets[b][a] = ends[1];
        }
    Links links;
    for (uint32_t self = 0; self < parties; ++self)
        links.push_back(test::tcp_link(self, sockets[self], spin_ns, checksums));
    return links;
}

void schedules_give_right_results_over_sockets_in_any_order_of_events(void **) {
    for (const uint32_t seed : seeds(60, 600)) {
        Random random(seed);
        const auto parties = static_cast<uint32_t>(1 + random() % 4);
        const uint64_t elements = seed % 10 == 0 ? 100'000 : 500;
        const reduce::Op op = random_op(random);
        const ReduceJob job(random, random_spans(random, parties, 3), op, random_shapes(random, op, elements),
                            random() % 2 == 0);
        const Links links = make_links(parties, seed % 2 == 0 ? Sockets::kUnix : Sockets::kLoopback, 0, seed % 3 == 0);
        reduce_all(random, job, links, 1 + random() % elements, random_plan(random, job.spans(), 1),
                   random_headers(random));
        for (uint32_t worker = 0; worker < parties; ++worker)
            if (!job.right(worker)) fail_msg("seed %u: worker %u", seed, worker);
    }
}

void workers_on_threads_sleep_on_their_links_until_all_is_done(void **) {
    for (const auto &[kind, spin_ns] : {std::pair<Sockets, uint64_t>{Sockets::kUnix, 0},
                                        {Sockets::kLoopback, 0},
                                        {Sockets::kLoopback, 20'000},
                                        {Sockets::kUnix, 20'000}}) {
        Random random(test_seed(1));
        const Headers headers = spin_ns == 0 ? Headers::kNone : Headers::kToAll;
        const ReduceJob job(random, Spans::even(4, 2), reduce::Op::kMean,
                            {{MDIST_FLOAT32, 300'000}, {MDIST_FLOAT32, 7}}, true);
        const Links links = make_links(4, kind, spin_ns);
        const SplitPlan plan = plan_of_one_group(job.spans());
        std::vector<Scratch> scratch(4);
        std::vector<std::unique_ptr<ReduceRow>> flats;
        for (uint32_t worker = 0; worker < 4; ++worker)
            flats.push_back(std::make_unique<ReduceRow>(job.calls(worker), MDIST_FLOAT32, job.cut(), worker));
        const auto failures = drive_in_threads(links, [&](uint32_t party) {
            return make_split_sum(*links[party], OperationHeader::of(job.call(0), 1, 0), *flats[party], plan,
                                  JoinPlan(job.spans(), 1), scratch[party], 80'000, headers);
        });
        for (uint32_t worker = 0; worker < 4; ++worker) {
            assert_string_equal(failures[worker].what(), "");
            assert_true(job.right(worker));
        }
    }
}

void one_agreement_follows_another(void **) {
    const Links links = make_links(3, Sockets::kLoopback, 20'000);
    std::vector<uint64_t> sums(3);
    const auto agree = [&](uint32_t party) {
        for (uint64_t sequence = 1; sequence <= tiered(300, 3000); ++sequence) {
            const std::vector<uint64_t> payload(1 + (party + sequence) % 1000, party + sequence);
            DirectAgreement schedule(*links[party], OperationHeader::of(Call(), sequence, 0),
                                     {payload.data(), payload.size() * 8});
            while (!schedule.advance()) links[party]->wait(600'000'000'000);
            for (uint32_t peer = 0; peer < 3; ++peer)
                if (const Link::Message come = schedule.payload(peer); come.bytes == 8 * (1 + (peer + sequence) % 1000))
                    sums[party] += static_cast<const uint64_t *>(come.data)[0] == peer + sequence;
        }
    };
    std::vector<Failure> failures(3, {MDIST_OK, ""});
    std::vector<std::thread> threads;
    for (uint32_t party = 0; party < 3; ++party)
        threads.emplace_back([&, party] { failures[party] = failure_of([&] { agree(party); }); });
    for (std::thread &thread : threads) thread.join();
    for (uint32_t party = 0; party < 3; ++party) {
        assert_string_equal(failures[party].what(), "");
        assert_int_equal(sums[party], 3 * tiered(300, 3000));
    }
}

void a_closed_or_broken_connection_is_a_lost_worker_for_those_who_wait(void **) {
    const Links links = make_links(3, Sockets::kLoopback);
    char bytes[10] = {};
    Pending last, pending, others;
    links[1]->send(0, 7, "last words", 10, last);
    links[1]->progress();
    links[1]->close();
    links[0]->receive(1, 7, bytes, 10, pending);
    while (!pending.done()) {
        links[0]->wait(600'000'000'000);
        links[0]->progress();
    }
    assert_memory_equal(bytes, "last words", 10);
    // Nothing is lost for those who do not wait for it.
    links[0]->send(2, 1, "x", 1, others);
    links[0]->progress();
    links[0]->receive(1, 8, bytes, 10, pending);
    const Failure failure = failure_of([&] {
        for (;;) {
            links[0]->progress();
            links[0]->wait(600'000'000'000);
        }
    });
    assert_int_equal(failure.status(), MDIST_ERR_PEER_LOST);
    assert_int_equal(failure.worker(), 1);
}

void a_message_of_another_tag_or_length_is_refused(void **) {
    for (const std::size_t bytes : {3, 4}) {
        const Links links = make_links(2, Sockets::kUnix);
        char received[4] = {};
        Pending sent, pending;
        links[1]->send(0, bytes == 4 ? 8 : 7, "abcd", bytes, sent);
        links[1]->progress();
        links[0]->receive(1, 7, received, 4, pending);
        const Failure failure = failure_of([&] { links[0]->progress(); });
        assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
        assert_int_equal(failure.worker(), 1);
        assert_int_equal(received[0], 0);
    }
}

/// Two ends, and between them whoever forwards what goes from 1 to 0.
struct Forwarded {
    int from_1 = -1, to_0 = -1;
    Links links;

    Forwarded() {
        int near[2], far[2];
        connect_pair(Sockets::kUnix, near);
        connect_pair(Sockets::kUnix, far);
        to_0 = near[1];
        from_1 = far[1];
        links.push_back(test::tcp_link(0, {-1, near[0]}, 0, true));
        links.push_back(test::tcp_link(1, {far[0], -1}, 0, true));
    }
    ~Forwarded() {
        close(to_0);
        close(from_1);
    }
    /// With one bit turned, if there is one of that number; how many bits there were.
    std::size_t forward(std::size_t turned) const {
        char bytes[4096];
        const ssize_t got = read(from_1, bytes, sizeof bytes);
        if (got <= 0) fail();
        const std::size_t bits = 8 * static_cast<std::size_t>(got);
        if (turned < bits) bytes[turned / 8] = static_cast<char>(bytes[turned / 8] ^ 1 << turned % 8);
        if (write(to_0, bytes, static_cast<std::size_t>(got)) != got) fail();
        return bits;
    }
};

void every_bit_that_changes_on_the_way_is_found_by_checksums(void **) {
    for (std::size_t turned = 0, bits = 1; turned <= bits; ++turned) {
        const Forwarded between;
        const char sent[] = "twenty bytes of text";
        char received[20];
        Pending gone, pending;
        between.links[1]->send(0, 7, sent, 20, gone);
        between.links[1]->progress();
        bits = between.forward(turned);
        between.links[0]->receive(1, 7, received, 20, pending);
        const Failure failure = failure_of([&] { between.links[0]->progress(); });
        if (turned == bits) {
            assert_true(pending.done());
            assert_memory_equal(received, sent, 20);
        } else {
            assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
            assert_int_equal(failure.worker(), 1);
            assert_false(pending.done());
        }
    }
}

void what_comes_early_is_kept(void **) {
    const Links links = make_links(2, Sockets::kUnix);
    Pending sent, first, second;
    char a[2], b[3];
    links[1]->send(0, 1, "aa", 2, sent);
    links[1]->send(0, 2, nullptr, 0, sent);
    links[1]->send(0, 3, "bbb", 3, sent);
    links[1]->progress();
    assert_true(sent.done());
    links[0]->receive(1, 1, a, 2, first);
    links[0]->progress();
    assert_true(first.done());
    links[0]->progress();
    links[0]->receive(1, 2, nullptr, 0, second);
    links[0]->receive(1, 3, b, 3, second);
    links[0]->wait(600'000'000'000);
    links[0]->progress();
    assert_true(second.done());
    assert_memory_equal(b, "bbb", 3);
}

void a_wait_ends_by_interrupt_and_by_close(void **) {
    const Links links = make_links(2, Sockets::kLoopback);
    char byte;
    Pending pending;
    links[0]->receive(1, 1, &byte, 1, pending);
    links[0]->progress();
    links[0]->interrupt();
    links[0]->wait(600'000'000'000);
    Failure failure(MDIST_OK, "");
    std::atomic<bool> waits{false};
    std::thread waiter([&] {
        failure = failure_of([&] {
            for (;;) {
                links[0]->progress();
                waits = true;
                links[0]->wait(600'000'000'000);
            }
        });
    });
    while (!waits) std::this_thread::yield();
    links[0]->close();
    waiter.join();
    assert_int_equal(failure.status(), MDIST_ERR_ABORTED);
}

/// Worker 1 gives two messages and closes its end, with something unread: so the system resets the connection at once.
void what_a_peer_gave_before_it_left_arrives_though_it_takes_nothing_any_more(void **) {
    for (const bool drops : {false, true}) {
        int ends[2];
        connect_pair(Sockets::kLoopback, ends);
        const auto link = test::tcp_link(0, {-1, ends[0]}, 0, false, drops);
        auto peer = test::tcp_link(1, {ends[1], -1}, 0, false);
        Pending unread, given, sent;
        uint64_t first = 0, second = 0;
        const uint64_t gives[] = {17, 18};
        link->send(1, 3, gives, sizeof gives, unread);
        link->progress();
        for (const uint64_t &each : gives) peer->send(0, 7, &each, sizeof each, given);
        peer->progress();
        assert_true(unread.done() && given.done());
        peer.reset();
        link->send(1, 4, gives, sizeof gives, sent);
        Pending come;
        link->receive(1, 7, &first, sizeof first, come);
        link->receive(1, 7, &second, sizeof second, come);
        const Failure failure = failure_of([&] { link->progress(); });
        assert_int_equal(failure.status(), drops ? MDIST_OK : MDIST_ERR_PEER_LOST);
        if (!drops) continue;
        assert_true(sent.done() && come.done());
        assert_true(sent.dropped && !unread.dropped);
        assert_true(first == 17 && second == 18);
        Pending later;
        link->send(1, 5, gives, sizeof gives, later);
        assert_true(later.done() && later.dropped);
        link->receive(1, 7, &first, sizeof first, come);
        assert_int_equal(failure_of([&] { link->progress(); }).status(), MDIST_ERR_PEER_LOST);
    }
}

/// The other end is a plain socket, which sends a message of two chunks and a half.
void only_whole_chunks_and_messages_are_progress(void **) {
    int ends[2];
    connect_pair(Sockets::kUnix, ends);
    const auto link = test::tcp_link(0, {-1, ends[0]}, 0, false);
    const std::size_t chunk = Link::kChunk, bytes = 2 * chunk + chunk / 2;
    const uint64_t frame[] = {7, bytes, 0}; // tag, length, no checksums
    std::vector<char> to(bytes), from(bytes, 'x');
    Pending pending;
    link->receive(1, 7, to.data(), bytes, pending);
    std::size_t given = 0;
    const auto give_until = [&](std::size_t end) {
        while (given < end) {
            const ssize_t written = write(ends[1], from.data() + given, std::min<std::size_t>(end - given, 32768));
            if (written > 0) given += static_cast<std::size_t>(written);
            link->progress();
        }
    };
    assert_int_equal(write(ends[1], frame, sizeof frame), sizeof frame);
    link->progress();
    const uint64_t none = link->moved(1);
    for (std::size_t end = 1; end < 10; ++end) give_until(end);
    give_until(chunk - 1);
    assert_int_equal(link->moved(1), none);
    for (uint64_t chunks = 1; chunks <= 2; ++chunks) {
        give_until(chunks * chunk);
        assert_int_equal(link->moved(1), none + chunks);
        give_until(chunks * chunk + chunk / 2 - 1);
        assert_int_equal(link->moved(1), none + chunks);
    }
    give_until(bytes);
    assert_true(pending.done());
    assert_int_equal(link->moved(1), none + 3); // the end of a message counts, too
    link->send(1, 8, from.data(), 10, pending);
    link->progress();
    assert_int_equal(link->moved(1), none + 4);
    close(ends[1]);
}

/// The first message to a peer asks for its socket, and messages wait for it.
void a_socket_is_asked_for_when_it_is_first_used(void **) {
    auto own = std::make_unique<test::GivenSockets>(std::vector<int>(3, -1));
    test::GivenSockets &sockets = *own;
    const auto link = make_tcp_link(0, 3, std::move(own), 0, true, {}, true);
    link->progress();
    assert_true(sockets.asked().empty());
    Pending sent, come, dropped;
    const uint64_t gives = 5;
    uint64_t gets = 0;
    link->send(2, 3, &gives, sizeof gives, sent);
    link->receive(2, 4, &gets, sizeof gets, come);
    link->send(1, 3, &gives, sizeof gives, dropped);
    assert_true(sockets.asked() == std::vector<uint32_t>({2, 1}));
    link->progress();
    assert_int_equal(link->moved(), 0);
    int ends[2];
    connect_pair(Sockets::kUnix, ends);
    std::thread giver([&] { sockets.give(2, ends[0]); });
    auto peer = test::tcp_link(1, {ends[1], -1}, 0, true);
    uint64_t there = 0;
    Pending all;
    peer->receive(0, 3, &there, sizeof there, all);
    peer->send(0, 4, &gives, sizeof gives, all);
    while (!come.done() || !sent.done() || !all.done()) {
        link->wait(10'000'000);
        link->progress();
        peer->progress();
    }
    giver.join();
    assert_true(there == 5 && gets == 5);
    assert_false(dropped.done());
    sockets.give(1, SocketSource::kGone);
    link->progress();
    assert_true(dropped.done());
    link->receive(1, 3, &gets, sizeof gets, come);
    const Failure failure = failure_of([&] { link->progress(); });
    assert_int_equal(failure.status(), MDIST_ERR_PEER_LOST);
    assert_int_equal(failure.worker(), 1);
}

} // namespace

SUBJECT(link_tcp) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(schedules_give_right_results_over_sockets_in_any_order_of_events),
        cmocka_unit_test(workers_on_threads_sleep_on_their_links_until_all_is_done),
        cmocka_unit_test(one_agreement_follows_another),
        cmocka_unit_test(a_socket_is_asked_for_when_it_is_first_used),
        cmocka_unit_test(a_closed_or_broken_connection_is_a_lost_worker_for_those_who_wait),
        cmocka_unit_test(what_a_peer_gave_before_it_left_arrives_though_it_takes_nothing_any_more),
        cmocka_unit_test(a_message_of_another_tag_or_length_is_refused),
        cmocka_unit_test(every_bit_that_changes_on_the_way_is_found_by_checksums),
        cmocka_unit_test(what_comes_early_is_kept),
        cmocka_unit_test(only_whole_chunks_and_messages_are_progress),
        cmocka_unit_test(a_wait_ends_by_interrupt_and_by_close),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
