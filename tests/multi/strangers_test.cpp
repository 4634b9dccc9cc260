// SPDX-License-Identifier: Apache-2.0
// Strangers of a dozen kinds connect while a group forms. The group still forms, and the strangers leave nothing
// behind.
#include "workers.h"

#include "time_limits.h"

#include "membership/net/address.h"
#include "membership/protocol/handshake.h"
#include "membership/protocol/secret.h"
#include "membership/store/store_service.h"
#include "subject.h"
#include "util/log.h"
#include "util/payload.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>

#include <poll.h>
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

constexpr uint32_t kKinds = 13;
constexpr std::size_t kHeld = 400; // connections that strangers keep open

std::string header(uint8_t version, uint8_t kind, uint32_t length) {
    return "mDst" + PayloadWriter()
                        .number(version)
                        .number(kind)
                        .number(uint16_t{0})
                        .number(length)
                        .number(uint32_t{0})
                        .bytes(SessionId{})
                        .take();
}

std::string hello(const std::string &job, uint32_t rank, uint32_t size, bool with_secret) {
    Hello hello;
    hello.job = job;
    hello.rank = rank;
    hello.size = size;
    hello.with_secret = with_secret;
    Seal none;
    return encode(ControlFrame{FrameKind::kHello, {}, encode(hello)}, none);
}

std::string proof_of_nothing() {
    Seal none;
    return encode(ControlFrame{FrameKind::kProof, {}, std::string(200, 'x')}, none);
}

/// Returns what a stranger of that kind says at once.
std::string words_of(uint32_t kind, uint32_t number) {
    switch (kind) {
        case 0:
            return "";
        case 1:
            return std::string(5000, static_cast<char>(number));
        case 2:
            return std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(200, '\x42');
        case 3:
            return "GET / HTTP/1.1\r\nHost: store\r\n\r\n";
        case 4:
            return "m";
        case 5:
            return header(99, 1, 10);
        case 6:
            return header(kProtocolVersion, 1, 0xffffffff);
        case 7:
            return header(kProtocolVersion, 200, 10);
        case 8:
            return hello("other", 1, 4, false);
        case 9:
            return hello("test", number % 4, 4, true) + proof_of_nothing();
        case 10:
            return hello("test", 3, 4, true); // says nothing after that
        case 11:
            return header(kProtocolVersion, 1, 300) + std::string(300, '\xff');
        default:
            return "";
    }
}

/// Returns the store's answer to these first words, in the same version.
Failure answer_to(const std::string &store, const std::string &words) {
    const SocketAddress address = socket_address(split_address(store));
    const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(descriptor, address.get(), address.length) != 0 ||
        send(descriptor, words.data(), words.size(), MSG_NOSIGNAL) < 0)
        fail();
    FrameReader reader(65536);
    std::optional<ControlFrame> frame;
    bool is_first = true;
    for (pollfd wait = {descriptor, POLLIN, 0}; !frame && poll(&wait, 1, 20'000) == 1;) {
        char bytes[4096];
        const ssize_t got = read(descriptor, bytes, std::min(sizeof bytes, reader.wanted()));
        if (got <= 0) break;
        // A peer of another version cannot read a frame of this one.
        if (std::exchange(is_first, false)) {
            assert_true(got > static_cast<ssize_t>(kVersionAt));
            assert_int_equal(bytes[kVersionAt], words[kVersionAt]);
            bytes[kVersionAt] = static_cast<char>(kProtocolVersion);
        }
        reader.feed({bytes, static_cast<std::size_t>(got)});
        frame = reader.next();
    }
    close(descriptor);
    if (!frame || frame->kind != FrameKind::kRefused) fail_msg("it was not refused");
    return decode_failure(frame->payload).value_or(Failure(MDIST_OK, "not readable"));
}

/// Connects, says its words, and keeps the connection open. If there are many, the oldest is closed. Kind 12 resets at
/// once.
void connect_as(uint32_t kind, uint32_t number, const SocketAddress &store, std::deque<int> &held) {
    const int descriptor = socket(store.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, store.get(), store.length) != 0) {
        close(descriptor);
        return;
    }
    const std::string words = words_of(kind, number);
    if (!words.empty()) static_cast<void>(send(descriptor, words.data(), words.size(), MSG_NOSIGNAL));
    const linger at_once = {1, 0};
    if (kind == 12) setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (kind == 12 || held.size() >= kHeld) {
        close(kind == 12 ? descriptor : held.front());
        if (kind != 12) held.pop_front();
    }
    if (kind != 12) held.push_back(descriptor);
}

void be_strangers(const std::string &store, uint32_t count, const Say &say) {
    const SocketAddress address = socket_address(split_address(store));
    std::deque<int> held;
    for (uint32_t number = 0; number < count; ++number) {
        connect_as(number % kKinds, number, address, held);
        if (number == count / 2) say("half");
    }
    say("all");
    pause();
}

void be_launcher(const std::string &store, const std::string &secret, const Say &say) {
    StoreService service(store, {4, 0, "test", secret}, kLongEnough);
    say("serving");
    while (service.state().joined < 4) nap();
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    say(text(std::distance(begin(all), end(all))));
    pause();
}

void a_group_forms_among(const std::string &secret, uint16_t port) {
    const std::string store = text(own_host(), ':', port);
    const uint32_t count = tiered(390, 10'000);
    WorkerTeam team;
    team.start(100, [&](uint32_t, const Say &say) { be_launcher(store, secret, say); });
    assert_string_equal(team.next_line(100).c_str(), "serving");
    const Work work = [&](uint32_t me, const Say &say) {
        MembershipOptions options = options_for(me, 4, store);
        options.secret = secret;
        Membership group(options);
        group.exchange("", kLongEnough);
        say("ready");
        pause();
    };
    for (const uint32_t rank : {0, 1}) team.start(rank, work);
    team.start(200, [&](uint32_t, const Say &say) { be_strangers(store, count, say); });
    assert_string_equal(team.next_line(200).c_str(), "half");
    team.start(2, work);
    assert_string_equal(team.next_line(200).c_str(), "all");
    team.start(3, work);
    for (const uint32_t rank : {0, 1, 2, 3}) assert_string_equal(team.next_line(rank).c_str(), "ready");
    // The lobby, four workers, and what the process needs itself.
    assert_in_range(std::strtoul(team.next_line(100).c_str(), nullptr, 10), 4, kMostGuests + 4 + 16);
}

void workers_of_another_version_or_byte_order_are_told_so(void **) {
    const std::string store = text(own_host(), ':', 4402);
    WorkerTeam team;
    team.start(0, [&](uint32_t, const Say &say) {
        const StoreService service(store, {4, 0, "test", ""}, kLongEnough);
        say("serving");
        pause();
    });
    assert_string_equal(team.next_line(0).c_str(), "serving");
    std::string words = hello("test", 1, 4, false);
    words[kVersionAt] = static_cast<char>(kProtocolVersion + 1);
    const Failure version = answer_to(store, words);
    assert_int_equal(version.status(), MDIST_ERR_CONFIG);
    assert_string_equal(version.reason().c_str(), "different_version");
    words[kVersionAt] = static_cast<char>(kProtocolVersion);
    std::reverse(words.begin() + kFrameHeaderBytes, words.begin() + kFrameHeaderBytes + sizeof(uint32_t));
    const Failure order = answer_to(store, words);
    assert_int_equal(order.status(), MDIST_ERR_CONFIG);
    assert_string_equal(order.reason().c_str(), "different_byte_order");
}

void a_group_forms_among_strangers(void **) {
    a_group_forms_among("", 4400);
}

void a_group_with_a_secret_forms_among_strangers(void **) {
    if (!secrets_are_built()) skip();
    a_group_forms_among("known to the workers", 4401);
}

} // namespace

SUBJECT(strangers) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(workers_of_another_version_or_byte_order_are_told_so),
        cmocka_unit_test(a_group_forms_among_strangers),
        cmocka_unit_test(a_group_with_a_secret_forms_among_strangers),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
