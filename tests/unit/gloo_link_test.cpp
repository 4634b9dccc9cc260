// SPDX-License-Identifier: Apache-2.0
// The Gloo link between processes, and between threads for the sanitizers. Skipped where Gloo was not built in.
#include "comm/links/gloo.h"
#include "parties.h"
#include "random.h"
#include "subject.h"
#include "util/failure.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

// This header of 1.1.5 does not say for itself that it is C.
extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;
using Bytes = std::vector<unsigned char>;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kPatience = 60 * kSecond;

std::unique_ptr<Link> form(const Party &party, uint64_t timeout_ns = kPatience) {
    GlooOptions options;
    options.self = party.self;
    options.parties = party.parties;
    options.address = "127.0.0.1";
    for (uint32_t peer = 0; peer < party.parties; ++peer)
        if (peer != party.self) options.peers.push_back(peer);
    options.exchange = [&party](const std::string &blob) { return party.exchange(blob); };
    options.timeout_ns = timeout_ns;
    return make_gloo_link(options);
}

/// Drives the link until all is done. Returns false where that takes too long.
bool finish(Link &link, const Pending &pending) {
    const uint64_t deadline = monotonic_clock().now_ns() + kPatience;
    for (link.progress(); !pending.done(); link.progress()) {
        if (monotonic_clock().now_ns() >= deadline) return false;
        link.wait(kSecond);
    }
    return true;
}

/// The status with which a call fails, and the worker that it blames.
template <typename Call>
std::pair<mdist_status_t, uint32_t> failure_of(Call &&call) {
    try {
        call();
    } catch (const Failure &failure) {
        return {failure.status(), failure.worker()};
    }
    return {MDIST_OK, MDIST_NONE};
}

/// Message `number` from one party to another, the same wherever it is computed.
Bytes message(uint32_t from, uint32_t to, uint32_t number) {
    std::mt19937 engine(test_seed(0) + from * 7919 + to * 104729 + number * 31);
    const std::array<uint32_t, 6> limits = {1, 2, 100, 5000, 70'000, 400'000};
    Bytes bytes(engine() % limits[engine() % limits.size()]);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(engine());
    return bytes;
}

/// Posts all messages with all peers, in an order of this party's own, with some progress in between.
void exchange_messages(const Party &party) {
    const auto link = form(party);
    const uint32_t count = tiered(60, 1000);
    struct Stream {
        uint32_t peer;
        bool is_send;
        std::vector<Bytes> messages;
    };
    std::vector<Stream> streams;
    for (uint32_t peer = 0; peer < party.parties; ++peer)
        if (peer != party.self) streams.push_back({peer, true, {}}), streams.push_back({peer, false, {}});
    Pending pending;
    std::mt19937 engine(test_seed(0) + party.self);
    for (uint32_t left = count * static_cast<uint32_t>(streams.size()); left > 0;) {
        Stream &stream = streams[engine() % streams.size()];
        const auto number = static_cast<uint32_t>(stream.messages.size());
        if (number == count) continue;
        if (number == 0) stream.messages.reserve(count); // posted memory stays where it is
        if (stream.is_send) {
            Bytes &bytes = stream.messages.emplace_back(message(party.self, stream.peer, number));
            link->send(stream.peer, number % 5, bytes.data(), bytes.size(), pending);
        } else {
            Bytes &bytes = stream.messages.emplace_back(message(stream.peer, party.self, number).size());
            link->receive(stream.peer, number % 5, bytes.data(), bytes.size(), pending);
        }
        --left;
        if (engine() % 3 == 0) link->progress();
    }
    expect(finish(*link, pending), "all messages arrive");
    for (const Stream &stream : streams)
        for (uint32_t number = 0; number < count; ++number)
            expect(stream.is_send || stream.messages[number] == message(stream.peer, party.self, number),
                   "a message is what was sent");
    party.meet(); // nobody closes before all have all
}

void random_messages_between_processes_arrive_in_order(void **) {
    run_processes(3, exchange_messages);
}

void random_messages_between_threads_arrive_in_order(void **) {
    run_threads(3, exchange_messages);
}

void big_messages_cross(void **) {
    run_threads(2, [](const Party &party) {
        const auto link = form(party);
        const std::size_t bytes = std::size_t{96} << 20;
        Bytes out(bytes);
        Bytes in(bytes);
        std::mt19937_64 engine(test_seed(0) + party.self);
        for (std::size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
            const uint64_t value = engine();
            std::memcpy(&out[i], &value, sizeof value);
        }
        Pending pending;
        link->receive(1 - party.self, 1, in.data(), bytes, pending);
        link->send(1 - party.self, 1, out.data(), bytes, pending);
        expect(finish(*link, pending), "both arrive");
        std::mt19937_64 other(test_seed(0) + 1 - party.self);
        for (std::size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
            const uint64_t value = other();
            expect(std::memcmp(&in[i], &value, sizeof value) == 0, "every word is right");
        }
        party.meet();
    });
}

void an_empty_message_tells_that_the_peer_has_come_so_far(void **) {
    run_threads(2, [](const Party &party) {
        const auto link = form(party);
        Pending pending;
        if (party.self == 0) {
            link->receive(1, 4, nullptr, 0, pending);
            link->progress();
            expect(!pending.done(), "nothing arrives before it is sent");
            party.meet();
            expect(finish(*link, pending), "it arrives");
        } else {
            party.meet();
            link->send(0, 4, nullptr, 0, pending);
            expect(finish(*link, pending), "it leaves");
        }
        party.meet();
    });
}

/// Party 1 is killed in the middle of big messages both ways, at a point that depends on `looks`.
void lose_a_peer(uint32_t looks) {
    run_processes(
        3,
        [looks](const Party &party) {
            const auto link = form(party);
            Bytes in(64 << 20);
            Bytes out(64 << 20);
            Pending pending;
            if (party.self == 2) return party.meet(2), void();
            link->receive(1 - party.self, 1, in.data(), in.size(), pending);
            link->send(1 - party.self, 1, out.data(), out.size(), pending);
            if (party.self == 1) {
                for (uint32_t i = 0; i < looks; ++i) link->progress(), link->wait(kSecond / 100);
                raise(SIGKILL);
            }
            unsigned char last = 0; // never sent
            link->receive(1, 2, &last, 1, pending);
            const auto failure = failure_of([&] { expect(finish(*link, pending), "the loss is noticed"); });
            expect(failure == std::pair(MDIST_ERR_PEER_LOST, 1u), "worker 1 is lost");
            // And again, however often one tries; SIGPIPE, at its default here, would end this process.
            for (int i = 0; i < 10; ++i) {
                const auto again = failure_of([&] {
                    link->send(1, 2, out.data(), 10, pending);
                    link->progress();
                });
                expect(again == std::pair(MDIST_ERR_PEER_LOST, 1u), "it stays lost");
            }
            link->close();
            party.meet(2);
        },
        /* killed */ 1);
}

void a_killed_peer_is_lost_by_name(void **) {
    for (uint32_t looks = 0; looks < 6; ++looks) lose_a_peer(looks);
}

void close_ends_operations_and_frees_their_memory(void **) {
    run_threads(2, [](const Party &party) {
        const auto link = form(party);
        const std::size_t bytes = std::size_t{256} << 20; // more than sockets hold
        void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        expect(memory != MAP_FAILED, "there is memory");
        Pending pending;
        if (party.self == 0) {
            Pending first;
            unsigned char byte = 0;
            link->receive(1, 1, &byte, 1, first);
            link->receive(1, 2, memory, bytes, pending);
            expect(finish(*link, first), "the small one arrives");
            link->close(); // in the middle of the big one, as a rule
            munmap(memory, bytes);
            expect(failure_of([&] { link->receive(1, 3, &byte, 1, first); }).first == MDIST_ERR_ABORTED,
                   "nothing can be posted any more");
            party.meet();
        } else {
            unsigned char byte = 7;
            link->send(0, 1, &byte, 1, pending);
            link->send(0, 2, memory, bytes, pending);
            link->send(0, 3, &byte, 1, pending); // never received: the big one may have crossed before the end
            const auto failure = failure_of([&] { expect(finish(*link, pending), "the end is noticed"); });
            expect(failure == std::pair(MDIST_ERR_PEER_LOST, 0u), "worker 0 is lost");
            link->close();
            munmap(memory, bytes);
            party.meet();
        }
    });
}

void what_was_sent_before_close_arrives(void **) {
    run_threads(2, [](const Party &party) {
        const auto link = form(party);
        Bytes bytes(20'000, 5);
        Pending pending;
        if (party.self == 0) {
            link->send(1, 1, bytes.data(), bytes.size(), pending);
            expect(finish(*link, pending), "it leaves");
        } else {
            Bytes in(bytes.size());
            link->receive(0, 1, in.data(), in.size(), pending);
            expect(finish(*link, pending), "it arrives");
            expect(in == bytes, "unharmed");
        }
        link->close();
        party.meet();
    });
}

/// Both ends find out that they disagree.
void disagree(uint64_t tag_sent, std::size_t sent, uint64_t tag_received, std::size_t received) {
    run_threads(2, [=](const Party &party) {
        const auto link = form(party);
        Bytes bytes(1 << 20);
        Pending pending;
        const auto failure = failure_of([&] {
            if (party.self == 0)
                link->send(1, tag_sent, bytes.data(), sent, pending);
            else
                link->receive(0, tag_received, bytes.data(), received, pending);
            expect(finish(*link, pending), "the disagreement is noticed");
        });
        expect(failure == std::pair(MDIST_ERR_DATA_LOSS, 1 - party.self), "both are told");
        party.meet();
    });
}

void ends_that_disagree_about_a_message_are_told(void **) {
    disagree(1, 100, 2, 100);
    disagree(1, 100, 1, 99);
    disagree(1, 99, 1, 100);
    disagree(1, 1 << 20, 1, 0);
}

void interrupt_ends_a_wait(void **) {
    run_threads(2, [](const Party &party) {
        const auto link = form(party);
        link->progress();
        std::thread other([&] { link->interrupt(); });
        link->wait(kPatience); // the test's own timeout tells if not
        other.join();
        party.meet();
    });
}

/// Connects to the pair that a blob offers, and sends what ends processes that run Gloo as it is.
int intrude(const std::string &blob) {
    sockaddr_in address;
    constexpr std::size_t kAddressAt = 16; // behind magic number, peer and length
    std::memcpy(&address, blob.data() + kAddressAt, sizeof address);
    const int stranger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(connect(stranger, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0, "the pair listens");
    const std::array<uint64_t, 6> data_for_nobody = {48 + 8, 1, 12345, 0, 8, 0};
    expect(write(stranger, &data_for_nobody, sizeof data_for_nobody) == sizeof data_for_nobody, "it takes bytes");
    return stranger;
}

void a_stranger_on_a_pair_ends_the_forming_not_the_process(void **) {
    run_threads(2, [](const Party &party) {
        int stranger = -1;
        Party spied = party;
        spied.exchange = [&](const std::string &blob) {
            if (party.self == 0) stranger = intrude(blob);
            return party.exchange(blob);
        };
        const mdist_status_t status = failure_of([&] { form(spied, party.self == 0 ? kPatience : 2 * kSecond); }).first;
        // Which end notices what depends on who of the two connects.
        expect(party.self == 1 || status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_UNAUTHENTICATED ||
                   status == MDIST_OK,
               "worker 0 says so");
        expect(status != MDIST_ERR_INTERNAL, "it is nobody's fault here");
        if (stranger >= 0) close(stranger);
        party.meet();
    });
}

void a_peer_that_never_connects_is_named(void **) {
    run_threads(2, [](const Party &party) {
        Party absent = party;
        if (party.self == 1)
            absent.exchange = [&](const std::string &blob) {
                party.exchange(blob);
                throw Failure(MDIST_ERR_ABORTED, "gone");
                return std::vector<std::string>();
            };
        const auto failure = failure_of([&] { form(absent, kSecond / 5); });
        if (party.self == 0)
            expect((failure.first == MDIST_ERR_TIMEOUT || failure.first == MDIST_ERR_PEER_LOST) && failure.second == 1,
                   "worker 1 is missing");
        party.meet();
    });
}

void who_is_not_wanted_is_told(void **) {
    run_threads(2, [](const Party &party) {
        GlooOptions options;
        options.self = party.self;
        options.parties = 2;
        options.address = "127.0.0.1";
        if (party.self == 0) options.peers = {1};
        options.exchange = party.exchange;
        options.timeout_ns = kPatience;
        const auto failure = failure_of([&] { make_gloo_link(options); });
        if (party.self == 0) expect(failure == std::pair(MDIST_ERR_MISMATCH, 1u), "worker 1 does not want it");
        party.meet();
    });
}

void addresses_of_other_hosts_and_names_are_refused(void **) {
    GlooOptions options;
    options.parties = 2;
    options.exchange = [](const std::string &) { return std::vector<std::string>(2); };
    options.timeout_ns = kPatience;
    options.address = "localhost";
    assert_int_equal(failure_of([&] { make_gloo_link(options); }).first, MDIST_ERR_INVALID_ARGUMENT);
    options.address = "192.0.2.1";
    assert_int_equal(failure_of([&] { make_gloo_link(options); }).first, MDIST_ERR_IO);
    options.address = "127.0.0.1";
    options.peers = {0};
    assert_int_equal(failure_of([&] { make_gloo_link(options); }).first, MDIST_ERR_INVALID_ARGUMENT);
}

void sockets_are_not_inherited_by_other_programs(void **) {
    run_processes(2, [](const Party &party) {
        const auto link = form(party);
        for (int file = 0; file < 256; ++file) {
            int type = 0;
            socklen_t length = sizeof type;
            sockaddr_storage name;
            socklen_t name_length = sizeof name;
            if (getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &length) != 0) continue;
            getsockname(file, reinterpret_cast<sockaddr *>(&name), &name_length);
            if (name.ss_family == AF_INET)
                expect((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0, "a socket is closed by exec");
        }
        party.meet();
    });
}

} // namespace

SUBJECT(gloo_link) {
    std::string why_not;
#ifdef MDIST_TEST_GLOO_FOLDER
    look_for_gloo_in(MDIST_TEST_GLOO_FOLDER);
    if (!gloo_available(&why_not)) return fprintf(stderr, "%s\n", why_not.c_str()), 1;
#else
    if (!gloo_available(&why_not)) return puts(why_not.c_str()), 77;
#endif
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_messages_between_processes_arrive_in_order),
        cmocka_unit_test(random_messages_between_threads_arrive_in_order),
        cmocka_unit_test(big_messages_cross),
        cmocka_unit_test(an_empty_message_tells_that_the_peer_has_come_so_far),
        cmocka_unit_test(a_killed_peer_is_lost_by_name),
        cmocka_unit_test(close_ends_operations_and_frees_their_memory),
        cmocka_unit_test(what_was_sent_before_close_arrives),
        cmocka_unit_test(ends_that_disagree_about_a_message_are_told),
        cmocka_unit_test(interrupt_ends_a_wait),
        cmocka_unit_test(a_stranger_on_a_pair_ends_the_forming_not_the_process),
        cmocka_unit_test(a_peer_that_never_connects_is_named),
        cmocka_unit_test(who_is_not_wanted_is_told),
        cmocka_unit_test(addresses_of_other_hosts_and_names_are_refused),
        cmocka_unit_test(sockets_are_not_inherited_by_other_programs),
    };
    return cmocka_run_group_tests_name("gloo_link", tests, nullptr, nullptr);
}
