// SPDX-License-Identifier: Apache-2.0
// An intruder floods jobs while they form and while they run. If a job has a secret, the intruder neither enters nor
// disturbs it. Without a secret, it gets nothing into a job that has formed. The jobs use only the public API, and
// every sum is checked.
#include "intruder.h"
#include "subject.h"
#include "workers.h"

#include "membership/net/address.h"
#include "membership/protocol/secret.h"
#include "util/log.h"
#include "util/payload.h"

#include <mdist/mdist.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
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

constexpr uint32_t kWorkers = 3;
constexpr uint32_t kIntruder = 100, kInvader = 101, kRelay = 102, kLauncher = 103;
constexpr uint32_t kRounds = 20; // rounds of the intruder
constexpr std::size_t kLength = 64;

[[noreturn]] void fail_with(const mdist_error_t *error) {
    throw Failure(mdist_error_status(error), mdist_error_message(error));
}

struct Round {
    uint32_t rank;
    uint32_t number;
    bool stop; // worker 0 sets it, and all workers learn of it in the same round
};

/// Sums numbers that differ by worker and round; 1 if the sum is wrong.
int32_t sum_and_check(mdist_replica_t *replica, void *user_data) {
    auto &round = *static_cast<Round *>(user_data);
    float values[kLength];
    for (std::size_t i = 0; i < kLength; ++i)
        values[i] = static_cast<float>((round.rank + 1) * (round.number % 100 + i));
    values[0] = round.stop ? 1 : 0;
    mdist_buffer_t buffer = {};
    buffer.data = values;
    buffer.dtype = MDIST_FLOAT32;
    buffer.elements = kLength;
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, nullptr, nullptr) != MDIST_OK) return 2;
    for (std::size_t i = 1; i < kLength; ++i)
        if (values[i] != static_cast<float>(6 * (round.number % 100 + i))) return 1;
    round.stop = values[0] != 0;
    return 0;
}

/// A pipe. Each byte tells one reader to go on.
struct Signal {
    Signal() {
        if (pipe2(ends, O_CLOEXEC) != 0) throw std::bad_alloc();
    }
    ~Signal() {
        for (const int end : ends) close(end);
    }
    void give() const {
        if (write(ends[1], "xxx", kWorkers) != kWorkers) fail();
    }
    void await() const {
        char byte;
        if (read(ends[0], &byte, 1) != 1) throw std::bad_alloc();
    }
    bool given() const {
        pollfd look = {ends[0], POLLIN, 0};
        return poll(&look, 1, 0) == 1;
    }
    int ends[2];
};

struct Signals {
    Signal begin, let_go, withdraw, end;
};

void be_worker(uint32_t rank, const std::string &store, const std::string &secret_file, const Signals &signals,
               const Say &say) {
    say(text(getpid()));
    signals.begin.await();
    setenv("MDIST_RANK", text(rank).c_str(), 1);
    setenv("MDIST_SIZE", text(kWorkers).c_str(), 1);
    setenv("MDIST_STORE", store.c_str(), 1);
    setenv("MDIST_STORE_OWNER", "launcher", 1);
    setenv("MDIST_JOB_ID", "prey", 1);
    setenv("MDIST_DEVICES", "cpu", 1);
    setenv("MDIST_COMMUNICATION_IMPLEMENTATION", "tcp", 1);
    setenv("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", "300s", 1); // for the worker that is held back
    if (!secret_file.empty()) setenv("MDIST_SECRET_FILE", secret_file.c_str(), 1);
    mdist_strategy_t *strategy = nullptr;
    mdist_error_t *error = nullptr;
    if (mdist_strategy_create(nullptr, &strategy, &error) != MDIST_OK) fail_with(error);
    for (Round round = {rank, 0, false}; !round.stop; ++round.number) {
        round.stop = rank == 0 && signals.end.given();
        if (mdist_run(strategy, sum_and_check, &round, NULL, &error) != MDIST_OK) fail_with(error);
        if (round.number == 0) say("formed");
    }
    mdist_strategy_destroy(strategy);
    say("all sums are right");
}

/// Serves the store, and says its address.
void be_launcher(const std::string &secret, const Say &say) {
    mdist_store_t *store = nullptr;
    mdist_error_t *error = nullptr;
    const mdist_store_options_t options = {sizeof options, kWorkers, 0, 0, "prey", secret.c_str(), nullptr};
    mdist_store_info_t info = {};
    info.struct_size = sizeof info;
    if (mdist_store_create("127.0.0.1:0", &store, &options, &error) != MDIST_OK ||
        mdist_store_describe(store, &info, &error) != MDIST_OK)
        fail_with(error);
    say(info.address);
    pause();
}

std::string hex_of(std::string_view bytes) {
    std::ostringstream out;
    for (const char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        out << digits;
    }
    return out.str();
}

std::string bytes_of(const std::string &hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16));
    return bytes;
}

/// Runs the relay. Says its address and, once it holds GO back, what it has seen.
void be_relay(const std::string &store, const Signal &let_go, const Say &say) {
    Relay relay(split_address(store), let_go.ends[0]);
    say(text("127.0.0.1:", relay.port()));
    while (!relay.holds_go()) relay.carry();
    const SessionId &session = relay.overheard().session;
    say(hex_of({reinterpret_cast<const char *>(session.data()), session.size()}) + hex_of(relay.overheard().said));
    for (;;) relay.carry();
}

Overheard overheard_in(const std::string &line) {
    const std::string bytes = bytes_of(line);
    Overheard overheard;
    std::memcpy(overheard.session.data(), bytes.data(), overheard.session.size());
    overheard.said = bytes.substr(overheard.session.size());
    return overheard;
}

struct Attack {
    Prey prey;
    std::vector<Overheard> knows;
};

/// Runs at least `rounds` rounds, and more until `until` is given. Says "0 entered, 0 told".
void be_intruder(const Attack &attack, uint32_t rounds, const Signal *until, const Say &say) {
    Intruder intruder(attack.prey);
    for (const Overheard &overheard : attack.knows) intruder.learn(overheard);
    for (uint32_t round = 0; round < rounds || (until != nullptr && !until->given()); ++round) {
        intruder.attack();
        if (round == 0) say("attacking");
    }
    say(text(intruder.entered(), " entered, ", intruder.told(), " told"));
    if (intruder.attempts() < rounds) say("it did not reach anybody");
}

/// Runs some rounds of an intruder that knows everything it can know.
void invade(WorkerTeam &team, const Attack &attack) {
    team.start(kInvader, [&](uint32_t, const Say &say) { be_intruder(attack, kRounds, nullptr, say); });
    assert_string_equal(team.next_line(kInvader).c_str(), "attacking");
    assert_string_equal(team.next_line(kInvader).c_str(), "0 entered, 0 told");
}

/// Runs one job among intruders. `earlier` is what was overheard of the job before. Afterwards it is that of this job.
void attack_one_job(const std::string &secret, const std::string &secret_file, Overheard &earlier) {
    const Signals signals;
    WorkerTeam team;
    team.start(kLauncher, [&](uint32_t, const Say &say) { be_launcher(secret, say); });
    const std::string address = team.next_line(kLauncher);
    team.start(kRelay, [&](uint32_t, const Say &say) { be_relay(address, signals.let_go, say); });
    const std::string by_relay = team.next_line(kRelay);
    Attack attack{{split_address(address), {}, "prey", !secret.empty()}, {}};
    for (uint32_t rank = 0; rank < kWorkers; ++rank) {
        const std::string where = rank == 1 ? by_relay : address;
        team.start(rank, [&, where](uint32_t me, const Say &say) { be_worker(me, where, secret_file, signals, say); });
        attack.prey.pids.push_back(std::atoi(team.next_line(rank).c_str()));
    }
    if (!secret.empty() && !earlier.said.empty()) attack.knows.push_back(earlier);
    team.start(kIntruder, [&](uint32_t, const Say &say) { be_intruder(attack, 1, &signals.withdraw, say); });
    assert_string_equal(team.next_line(kIntruder).c_str(), "attacking");
    signals.begin.give();
    earlier = overheard_in(team.next_line(kRelay));
    attack.knows = {earlier};
    invade(team, attack); // at this time some workers wait for connections of others
    signals.let_go.give();
    for (uint32_t rank = 0; rank < kWorkers; ++rank) assert_string_equal(team.next_line(rank).c_str(), "formed");
    signals.withdraw.give();
    assert_string_equal(team.next_line(kIntruder).c_str(), "0 entered, 0 told");

    attack.prey.may_join = true;
    invade(team, attack);
    signals.end.give();
    for (uint32_t rank = 0; rank < kWorkers; ++rank)
        assert_string_equal(team.next_line(rank).c_str(), "all sums are right");
}

void nothing_gets_into_a_formed_job_without_a_secret(void **) {
    Overheard earlier;
    for (uint32_t job = 0; job < tiered(2, 100); ++job) attack_one_job("", "", earlier);
}

void nobody_enters_or_disturbs_a_job_with_a_secret(void **) {
    if (!secrets_are_built()) skip();
    char path[] = "/tmp/intruders-XXXXXX";
    const int file = mkstemp(path);
    const std::string secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_int_equal(write(file, secret.data(), secret.size()), secret.size());
    close(file);
    Overheard earlier;
    for (uint32_t job = 0; job < tiered(2, 100); ++job) attack_one_job(secret, path, earlier);
    unlink(path);
}

} // namespace

SUBJECT(intruders) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(nothing_gets_into_a_formed_job_without_a_secret),
        cmocka_unit_test(nobody_enters_or_disturbs_a_job_with_a_secret),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
