// SPDX-License-Identifier: Apache-2.0
// Agreements by relays: everybody gets everybody's payload, with log2(n) messages. (What happens if workers disagree is
// in call_agreement_test.cpp.)
#include "comm/schedules/relayed_agreement.h"
#include "inproc.h"
#include "subject.h"

#include <cstring>

#include "schedule_support.h"

namespace {

using namespace mdist;

Call barrier() {
    Call call;
    call.kind = &calls::kBarrier;
    return call;
}

/// What all parties need.
struct Parties {
    Parties(Random &random, uint32_t workers, uint32_t per_host = 1)
        : plan(Spans::even(workers, 1), per_host), scratch(workers) {
        for (uint32_t worker = 0; worker < workers; ++worker) {
            const std::size_t most = RelayedAgreement::most(workers);
            const std::size_t bytes = random() % 4 == 0 ? 0 : random() % 8 == 0 ? most : random() % 100 % (most + 1);
            payloads.push_back(random_bytes(random, bytes));
        }
    }
    std::unique_ptr<RelayedAgreement> make(Link &link) {
        return std::make_unique<RelayedAgreement>(link, OperationHeader::of(barrier(), 7, 0), plan,
                                                  message_of(payloads[link.self()]), giver, scratch[link.self()]);
    }

    /// Only this one has a payload.
    void leave_it_to(uint32_t worker, std::vector<unsigned char> payload) {
        giver = worker;
        for (auto &other : payloads) other.clear();
        payloads[worker] = std::move(payload);
    }

    JoinPlan plan;
    uint32_t giver = RelayedAgreement::kEveryone;
    std::vector<std::vector<unsigned char>> payloads;
    std::vector<Scratch> scratch;
};

void check(Random &random, uint32_t workers, uint32_t per_host, bool has_one_giver) {
    const Links links = make_inproc_links(workers);
    Parties parties(random, workers, per_host);
    const std::size_t most = RelayedAgreement::most_of_one(workers);
    if (has_one_giver)
        parties.leave_it_to(static_cast<uint32_t>(random() % workers),
                            random_bytes(random, random() % 4 == 0 ? most : random() % (most + 1)));
    const Schedules done = drive(random, workers, [&](uint32_t party) { return parties.make(*links[party]); });
    for (const auto &schedule : done) {
        const auto &agreement = dynamic_cast<const RelayedAgreement &>(*schedule);
        for (uint32_t worker = 0; worker < workers; ++worker) {
            const auto &due = parties.payloads[worker];
            const Link::Message come = agreement.payload(worker);
            assert_int_equal(come.bytes, due.size());
            assert_true(due.empty() || std::memcmp(come.data, due.data(), due.size()) == 0);
            assert_true(agreement.has_come(worker));
        }
    }
}

void everybody_gets_what_everybody_gives(void **) {
    for (const uint32_t seed : seeds(5, 50)) {
        Random random(seed);
        for (uint32_t workers = 1; workers <= 35; ++workers)
            for (uint32_t per_host = 1; per_host <= workers; ++per_host)
                if (workers % per_host == 0) check(random, workers, per_host, random() % 2 == 0);
        check(random, static_cast<uint32_t>(36 + random() % 300), 1, false);
        check(random, 8 * static_cast<uint32_t>(2 + random() % 30), 8, seed % 2 == 0);
    }
}

void payloads_lie_at_multiples_of_eight_bytes(void **) {
    constexpr uint32_t kWorkers = 6;
    Random random(test_seed(1));
    const Links links = make_inproc_links(kWorkers);
    Parties parties(random, kWorkers);
    for (uint32_t worker = 0; worker < kWorkers; ++worker) parties.payloads[worker].resize(2 * worker + 1);
    const Schedules done = drive(random, kWorkers, [&](uint32_t party) { return parties.make(*links[party]); });
    for (uint32_t party = 0; party < kWorkers; ++party)
        for (uint32_t worker = 0; worker < kWorkers; ++worker)
            if (worker != party)
                assert_int_equal(reinterpret_cast<uintptr_t>(
                                     dynamic_cast<const RelayedAgreement &>(*done[party]).payload(worker).data) %
                                     RelayedAgreement::kAlignment,
                                 0);
}

void a_power_of_two_of_workers_gives_one_message_a_round_each(void **) {
    for (const auto &[workers, messages] : {std::pair<uint32_t, uint32_t>{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
        Random random(test_seed(1));
        Links links;
        for (auto &link : make_inproc_links(workers)) links.push_back(std::make_unique<CountingLink>(std::move(link)));
        Parties parties(random, workers);
        drive(random, workers, [&](uint32_t party) { return parties.make(*links[party]); });
        for (const auto &link : links) assert_int_equal(dynamic_cast<const CountingLink &>(*link).peers(), messages);
    }
}

/// What a worker says of a message that its only peer has sent, with `payload` behind the header.
Failure failure_at(uint64_t header_bytes, const std::vector<uint64_t> &payload) {
    const Links links = make_inproc_links(2);
    Random random(test_seed(1));
    Parties parties(random, 2);
    const auto mine = parties.make(*links[0]);
    const OperationHeader header = OperationHeader::of(barrier(), 7, header_bytes);
    Pending pending;
    links[1]->send(0, 1, &header, sizeof header, pending);
    if (!payload.empty()) links[1]->send(0, 2, payload.data(), payload.size() * sizeof(uint64_t), pending);
    return failure_of([&] { mine->advance(); });
}

void bytes_that_cannot_be_right_are_refused(void **) {
    for (const Failure &failure : {failure_at(uint64_t{1} << 60, {}), failure_at(0, {}), failure_at(16, {9, 0}),
                                   failure_at(16, {UINT64_MAX, 0})}) {
        assert_int_equal(failure.status(), MDIST_ERR_DATA_LOSS);
        assert_int_equal(failure.worker(), 1);
    }
    assert_int_equal(failure_at(16, {8, 0}).status(), MDIST_OK);
}

} // namespace

SUBJECT(relayed_agreement) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_what_everybody_gives),
        cmocka_unit_test(payloads_lie_at_multiples_of_eight_bytes),
        cmocka_unit_test(a_power_of_two_of_workers_gives_one_message_a_round_each),
        cmocka_unit_test(bytes_that_cannot_be_right_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
