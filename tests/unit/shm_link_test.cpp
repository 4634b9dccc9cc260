// SPDX-License-Identifier: Apache-2.0
// Segments, and the link over them, between real processes and between threads.
#include "shm_support.h"

#include "comm/links/shm.h"
#include "subject.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/text.h"

#include <csignal>
#include <random>

#include <poll.h>

namespace {

using namespace mdist;
using namespace mdist::test;

struct End {
    std::shared_ptr<ShmMates> mates;
    std::shared_ptr<ShmBell> bell;
    std::unique_ptr<Link> link;

    End(Board &board, uint32_t rank)
        : mates(join(board, rank, test_sizes(board.workers()))),
          bell(std::make_shared<ShmBell>(mates)),
          link(make_shm_link(mates, bell)) {}
};

struct Message {
    std::vector<unsigned char> bytes;
    Message(uint32_t from, uint32_t to, uint32_t number) {
        std::mt19937 engine(test_seed(0) + from * 10007 + to * 101 + number);
        const uint32_t sizes[] = {0, 1, 16, 100, 4080, 4096, 5000, 70000};
        bytes.resize(sizes[engine() % 8] + engine() % 3);
        for (unsigned char &byte : bytes) byte = static_cast<unsigned char>(engine());
    }
};

/// Each worker sends each other one `count` messages, some at a time. Both ends can compute the content.
std::string exchange_random_messages(Board &board, uint32_t rank, uint32_t count) {
    End end(board, rank);
    Link &link = *end.link;
    std::mt19937 engine(test_seed(0) + rank);
    for (uint32_t number = 0; number < count;) {
        const uint32_t batch = std::min<uint32_t>(count - number, 1 + number % 5); // the same on all workers
        std::vector<Message> sent;
        std::vector<Message> expected;
        std::vector<std::vector<unsigned char>> got;
        sent.reserve(std::size_t{8} * batch);
        got.reserve(std::size_t{8} * batch);
        Pending pending;
        for (uint32_t peer = 0; peer < link.parties(); ++peer) {
            for (uint32_t i = 0; i < batch && peer != rank; ++i) {
                sent.emplace_back(rank, peer, number + i);
                const Link::Message message = {sent.back().bytes.data(), sent.back().bytes.size()};
                if (engine() % 2 == 0 || !link.send_now(peer, number + i, message, {}))
                    link.send(peer, number + i, message.data, message.bytes, pending);
                expected.emplace_back(peer, rank, number + i);
                got.emplace_back(expected.back().bytes.size());
                if (engine() % 2 == 0 || !link.receive_now(peer, number + i, got.back().data(), got.back().size()))
                    link.receive(peer, number + i, got.back().data(), got.back().size(), pending);
                if (engine() % 3 == 0) link.progress();
            }
        }
        for (link.progress(); !pending.done(); link.progress()) link.wait(1'000'000'000);
        for (std::size_t i = 0; i < got.size(); ++i)
            if (got[i] != expected[i].bytes) return text("message ", number, " came otherwise");
        number += batch;
    }
    board.flag(0).fetch_add(1);
    while (board.flag(0).load() < board.workers()) sched_yield(); // nobody closes before all are done
    return "";
}

/// A message of two chunks and its end, in both directions.
std::string count_progress(Board &board, uint32_t rank) {
    End end(board, rank);
    Link &link = *end.link;
    const uint32_t peer = 1 - rank;
    std::vector<char> bytes(2 * Link::kChunk + 5);
    Pending pending;
    const uint64_t before = link.moved(peer);
    if (rank == 0)
        link.send(peer, 1, bytes.data(), bytes.size(), pending);
    else
        link.receive(peer, 1, bytes.data(), bytes.size(), pending);
    uint64_t last = before;
    bool backwards = false;
    for (link.progress(); !pending.done(); link.progress()) {
        backwards = backwards || link.moved(peer) < last;
        last = link.moved(peer);
        link.wait(1'000'000'000);
    }
    const uint64_t all = link.moved(peer) - before;
    board.flag(0).fetch_add(1);
    while (board.flag(0).load() < board.workers()) sched_yield(); // nobody closes before both are done
    if (backwards) return "it counts backwards";
    return all == 3 ? "" : text(all, " steps of progress");
}

void progress_is_counted_by_whole_chunks(void **) {
    assert_well(run_threads(2, count_progress));
}

void random_messages_come_as_they_were_sent_between_processes(void **) {
    for (uint32_t workers = 2; workers <= 5; ++workers)
        assert_well(run_processes(workers, [](Board &board, uint32_t rank) {
            return exchange_random_messages(board, rank, tiered(60, 600));
        }));
}

void random_messages_come_as_they_were_sent_between_threads(void **) {
    for (uint32_t workers = 2; workers <= 4; ++workers)
        assert_well(run_threads(workers, [](Board &board, uint32_t rank) {
            return exchange_random_messages(board, rank, tiered(30, 300));
        }));
}

/// Waits for a byte that never comes, and says how that ended.
std::string outcome_of_waiting(Link &link, uint32_t peer) {
    char byte = 0;
    Pending pending;
    link.receive(peer, 1, &byte, 1, pending);
    const uint64_t start = monotonic_clock().now_ns();
    try {
        for (link.progress(); !pending.done(); link.progress()) {
            link.wait(100'000'000);
            if (monotonic_clock().now_ns() - start > 100'000'000'000u) return "still waiting";
        }
    } catch (const Failure &failure) {
        return text("status ", int{failure.status()}, ", worker ", failure.worker());
    }
    return "came";
}

/// One worker sends short messages as fast as it can, the other one takes each as soon as it is there. So what stands
/// beside the counter changes while the mate reads it, and many messages are only in the ring. Every third message
/// comes in two parts, sent at once.
std::string stream_short_messages(Board &board, uint32_t rank, uint32_t count) {
    End end(board, rank);
    Link &link = *end.link;
    unsigned char bytes[64];
    for (uint32_t number = 0; number < count; ++number) {
        const std::size_t length = number * 7 % 61;
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(number + i * (number % 251)); };
        Pending pending;
        const std::size_t first = number % 3 == 0 ? length / 2 : length;
        if (rank == 0) {
            for (std::size_t i = 0; i < length; ++i) bytes[i] = byte(i);
            const Link::Message rest = first < length ? Link::Message{bytes + first, length - first} : Link::Message();
            if (!link.send_now(1, number, {bytes, first}, rest)) {
                link.send(1, number, bytes, first, pending);
                if (first < length) link.send(1, number, rest.data, rest.bytes, pending);
            }
        } else {
            link.receive(0, number, bytes, first, pending);
            if (first < length) link.receive(0, number, bytes + first, length - first, pending);
        }
        for (link.progress(); !pending.done(); link.progress()) link.wait(1'000'000'000);
        for (std::size_t i = 0; rank == 1 && i < length; ++i)
            if (bytes[i] != byte(i)) return text("byte ", i, " of message ", number, " came otherwise");
    }
    board.flag(0).fetch_add(1);
    while (board.flag(0).load() < board.workers()) sched_yield();
    return "";
}

void a_stream_of_short_messages_comes_whole(void **) {
    assert_well(run_processes(
        2, [](Board &board, uint32_t rank) { return stream_short_messages(board, rank, tiered(20'000, 500'000)); }));
    assert_well(run_threads(
        2, [](Board &board, uint32_t rank) { return stream_short_messages(board, rank, tiered(5'000, 100'000)); }));
}

void a_mate_that_closes_or_is_killed_is_a_lost_peer_after_all_it_sent(void **) {
    for (const bool killed : {false, true}) {
        const auto results = run_processes(2, [&](Board &board, uint32_t rank) -> std::string {
            End end(board, rank);
            char byte = 42;
            Pending pending;
            if (rank == 1) {
                end.link->send(0, 7, &byte, 1, pending);
                while (!pending.done()) end.link->progress();
                if (killed) raise(SIGKILL);
                end.link->close();
                return "";
            }
            byte = 0;
            while (board.flag(0).load() == 0 && !end.bell->closed(1) && !end.mates->gone(1)) sched_yield();
            end.link->receive(1, 7, &byte, 1, pending);
            while (!pending.done()) end.link->progress();
            if (byte != 42) return "what was sent before is lost";
            return outcome_of_waiting(*end.link, 1);
        });
        assert_string_equal(results[0].c_str(), text("status ", int{MDIST_ERR_PEER_LOST}, ", worker 1").c_str());
    }
}

/// The mate comes and the job fails, while a thread that waits for the mate has no core. It sees both at once.
void who_came_before_the_job_failed_has_come(void **) {
    const auto results = run_threads(2, [&](Board &board, uint32_t rank) -> std::string {
        const End end(board, rank);
        bool came = false;
        const auto has_come = [&] { return came; };
        end.bell->await(1 - rank, has_come, [&] {
            came = true;
            throw Failure(MDIST_ERR_ABORTED, "the job has failed");
        });
        if (!came) return "the wait is over, and nobody has come";
        came = false;
        bool told = false;
        try {
            end.bell->await(1 - rank, has_come, [] { throw Failure(MDIST_ERR_ABORTED, "the job has failed"); });
        } catch (const Failure &) {
            told = true;
        }
        board.flag(rank).store(1);
        while (board.flag(1 - rank).load() == 0) sched_yield(); // a mate that closes ends the wait, too
        return told ? "" : "the failure is lost";
    });
    for (const std::string &result : results) assert_string_equal(result.c_str(), "");
}

void lengths_and_tags_that_disagree_are_data_loss(void **) {
    for (const bool tag : {false, true}) {
        const auto results = run_threads(2, [&](Board &board, uint32_t rank) -> std::string {
            End end(board, rank);
            char bytes[2] = {};
            Pending pending;
            std::string outcome = "nothing";
            if (rank == 0) end.link->send(1, tag ? 2 : 1, bytes, tag ? 1 : 2, pending);
            if (rank == 1) end.link->receive(0, 1, bytes, 1, pending);
            try {
                for (end.link->progress(); !pending.done(); end.link->progress()) end.link->wait(1'000'000);
            } catch (const Failure &failure) {
                outcome = text(int{failure.status()});
            }
            board.flag(0).fetch_add(1);
            while (board.flag(0).load() < 2) sched_yield();
            return outcome;
        });
        assert_string_equal(results[1].c_str(), text(int{MDIST_ERR_DATA_LOSS}).c_str());
    }
}

void a_wait_is_interrupted_and_ended_by_a_close_from_another_thread(void **) {
    for (const bool close : {false, true}) {
        const auto results = run_threads(2, [&](Board &board, uint32_t rank) -> std::string {
            End end(board, rank);
            std::string outcome;
            if (rank == 0) {
                std::thread other([&] { close ? end.link->close() : end.link->interrupt(); });
                char byte;
                Pending pending;
                try {
                    end.link->receive(1, 1, &byte, 1, pending);
                    end.link->wait(3'600'000'000'000);
                    end.link->progress();
                    outcome = "open";
                } catch (const Failure &failure) {
                    outcome = text(int{failure.status()});
                }
                other.join();
            }
            board.flag(0).fetch_add(1);
            while (board.flag(0).load() < 2) sched_yield();
            return outcome;
        });
        assert_string_equal(results[0].c_str(), close ? text(int{MDIST_ERR_ABORTED}).c_str() : "open");
    }
}

void what_is_no_segment_of_a_mate_is_refused_with_the_reason(void **) {
    const OwnSegment own(8192);
    std::string other_cookie = own.offer();
    other_cookie.back() = other_cookie.back() == '0' ? '1' : '0';
    const std::string cookie = own.offer().substr(own.offer().rfind(' '));
    const std::string offers[] = {"",
                                  "shm2 1 2 3 4",
                                  other_cookie,
                                  text("shm1 ", getpid(), " ", own.fd() + 900, " 12288", cookie),
                                  text("shm1 ", getpid(), " ", own.fd(), " 16384", cookie),
                                  text("shm1 ", getpid(), " 0 12288", cookie),
                                  text("shm1 1999999999 ", own.fd(), " 12288", cookie)};
    for (const std::string &offer : offers) {
        mdist_status_t status = MDIST_OK;
        try {
            MateSegment mate(offer);
        } catch (const Failure &failure) {
            status = failure.status();
        }
        assert_int_equal(status, MDIST_ERR_UNSUPPORTED);
    }
    const MateSegment mate(own.offer());
    assert_int_equal(mate.bytes(), own.bytes());
    own.data()[5000] = 'x';
    assert_int_equal(mate.data()[5000], 'x');
    assert_false(mate.owner_gone());
}

void workers_of_other_hosts_share_nothing_and_say_why(void **) {
    assert_string_not_equal(host_identity().c_str(), "");
    ShmMates mates(0, 3, test_sizes(3), 1);
    const std::string offer = mates.offer();
    const std::string elsewhere = offer.substr(0, offer.find('\n')) + "\nanother boot id";
    assert_string_equal(mates.open({offer, elsewhere, "no memfd here\n"}).c_str(), "1");
    mates.settle({"1", "1", "1"});
    assert_false(mates.shares(1) || mates.shares(2) || mates.all_share());
    assert_string_equal(mates.reason(1).c_str(), "it runs on another host");
    assert_string_equal(mates.reason(2).c_str(), "its host is not known");
}

void a_doorbell_wakes_its_owner_and_harms_nobody_when_that_has_ended(void **) {
    const OwnSegment own(4096);
    const MateSegment mate(own.offer());
    auto bell = std::make_unique<OwnDoorbell>();
    const MateDoorbell theirs(mate, bell->number());
    pollfd rung = {bell->descriptor(), POLLIN, 0};
    assert_int_equal(poll(&rung, 1, 0), 0);
    theirs.ring();
    theirs.ring();
    assert_int_equal(poll(&rung, 1, 0), 1);
    bell->silence();
    assert_int_equal(poll(&rung, 1, 0), 0);
    bell.reset();
    for (int i = 0; i < 70'000; ++i) theirs.ring(); // more than a pipe holds; no signal comes
    try {
        const MateDoorbell no_pipe(mate, own.fd());
        assert_true(false);
    } catch (const Failure &failure) {
        assert_int_equal(failure.status(), MDIST_ERR_UNSUPPORTED);
    }
}

void hosts_are_rows_of_as_many_workers_that_share_memory_or_there_are_none(void **) {
    // The letter of each worker's host, and which workers of its host each has opened the memory of.
    const auto per_host = [](const std::string &letters, const std::vector<std::string> &opened) {
        std::vector<std::string> hosts;
        for (const char letter : letters) hosts.push_back(letter == '-' ? "" : std::string(1, letter));
        return ShmBlocks(hosts).length_of_rows(opened);
    };
    const std::string two = "11", three = "111", four = "1111";
    assert_int_equal(per_host("aabb", {two, two, two, two}), 2);
    assert_int_equal(per_host("aaaaaa", std::vector<std::string>(6, "111111")), 6);
    assert_int_equal(per_host("abcd", {"1", "1", "1", "1"}), 1);
    assert_int_equal(per_host("abab", {two, two, two, two}), 1); // in turns
    assert_int_equal(per_host("aaabb", {three, three, three, two, two}), 1);
    assert_int_equal(per_host("aaab", {three, three, three, "1"}), 1);
    assert_int_equal(per_host("abbbb", {"1", four, four, four, four}), 1);
    assert_int_equal(per_host("aabb", {two, "01", two, two}), 1);                            // in one direction only
    assert_int_equal(per_host("aabb", {two, two, two, ""}), 1);                              // one worker sent nothing
    assert_int_equal(per_host("aaaa", {two + "00", two + "00", "00" + two, "00" + two}), 2); // in two containers
    assert_int_equal(per_host("aab-", {two, two, "1", "1"}), 1);
    assert_int_equal(per_host("aabbbb", {two, two, four, four, four, four}), 1);
}

void a_host_of_many_workers_has_equal_blocks_of_64_at_most(void **) {
    for (const auto &[workers, length] : std::vector<std::pair<uint32_t, uint32_t>>{
             {1, 1}, {2, 2}, {15, 15}, {63, 63}, {64, 64}, {66, 33}, {96, 48}, {128, 64}, {1000, 50}, {1024, 64}}) {
        const ShmBlocks blocks(std::vector<std::string>(workers, "host"));
        std::vector<std::string> opened;
        for (uint32_t rank = 0; rank < workers; ++rank) {
            const std::vector<uint32_t> &members = blocks.members(rank);
            assert_int_equal(members.size(), length);
            assert_int_equal(members.at(blocks.index(rank)), rank);
            assert_int_equal(members[0], rank / length * length);
            opened.emplace_back(length, '1');
        }
        assert_int_equal(blocks.length_of_rows(opened), length);
    }
    const ShmBlocks prime(std::vector<std::string>(67, "host"));
    assert_int_equal(prime.members(0).size(), 64);
    assert_int_equal(prime.members(66).size(), 3);
    assert_int_equal(prime.length_of_rows(std::vector<std::string>(67, std::string(64, '1'))), 1);
}

} // namespace

SUBJECT(shm_link) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_messages_come_as_they_were_sent_between_processes),
        cmocka_unit_test(progress_is_counted_by_whole_chunks),
        cmocka_unit_test(a_stream_of_short_messages_comes_whole),
        cmocka_unit_test(a_mate_that_closes_or_is_killed_is_a_lost_peer_after_all_it_sent),
        cmocka_unit_test(random_messages_come_as_they_were_sent_between_threads),
        cmocka_unit_test(who_came_before_the_job_failed_has_come),
        cmocka_unit_test(lengths_and_tags_that_disagree_are_data_loss),
        cmocka_unit_test(a_wait_is_interrupted_and_ended_by_a_close_from_another_thread),
        cmocka_unit_test(what_is_no_segment_of_a_mate_is_refused_with_the_reason),
        cmocka_unit_test(workers_of_other_hosts_share_nothing_and_say_why),
        cmocka_unit_test(a_doorbell_wakes_its_owner_and_harms_nobody_when_that_has_ended),
        cmocka_unit_test(hosts_are_rows_of_as_many_workers_that_share_memory_or_there_are_none),
        cmocka_unit_test(a_host_of_many_workers_has_equal_blocks_of_64_at_most),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
