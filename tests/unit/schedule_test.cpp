// SPDX-License-Identifier: Apache-2.0
// Schedules over links, driven by one thread that lets parties advance in a random order: every run is repeatable.
#include "comm/schedules/broadcast.h"
#include "comm/schedules/host_gather.h"
#include "comm/schedules/transfer.h"
#include "inproc.h"
#include "strategy/job/call_functions.h"
#include "subject.h"

#include <algorithm>
#include <memory>

#include "schedule_support.h"

namespace {

using namespace mdist;

uint64_t random_slice(Random &random, uint64_t elements) {
    return random() % 4 == 0 ? 0 : 1 + random() % (elements / 3 + 1);
}

void check_all_reduce(uint32_t seed, uint64_t elements) {
    Random random(seed);
    const auto parties = static_cast<uint32_t>(1 + random() % 6);
    const Spans spans = random_spans(random, parties, 4);
    const reduce::Op op = random_op(random);
    const ReduceJob job(random, spans, op, random_shapes(random, op, elements), random() % 2 == 0);
    const Links links = make_inproc_links(parties);
    reduce_all(random, job, links, random_slice(random, elements), plan_of_one_group(spans), random_headers(random));
    for (uint32_t worker = 0; worker < parties; ++worker)
        if (!job.right(worker))
            fail_msg("seed %u, %s replicas: worker %u has wrong results", seed, text_of(spans).c_str(), worker);
}

void all_reduce_gives_the_bits_of_the_reference_in_any_order_of_events(void **) {
    for (const uint32_t seed : seeds(600, 6000)) check_all_reduce(seed, 200);
}

void all_reduce_of_large_buffers_gives_the_bits_of_the_reference(void **) {
    for (const uint32_t seed : seeds(10, 60)) check_all_reduce(seed, 100'000);
}

void check_levels(uint32_t seed, uint64_t elements) {
    Random random(seed);
    const auto hosts = static_cast<uint32_t>(1 + random() % 9);
    const auto per_host = static_cast<uint32_t>(1 + random() % 4);
    const Spans spans = random_spans(random, hosts * per_host, 3);
    const reduce::Op op = random_op(random);
    const ReduceJob job(random, spans, op, random_shapes(random, op, elements), random() % 2 == 0);
    const Links links = make_inproc_links(hosts * per_host);
    const std::vector<uint32_t> groups = random_groups(random, hosts);
    reduce_all(random, job, links, random_slice(random, elements), {spans, per_host, groups}, random_headers(random));
    for (uint32_t worker = 0; worker < hosts * per_host; ++worker)
        if (!job.right(worker))
            fail_msg("seed %u, %u hosts x %u workers, %s replicas: worker %u has wrong results", seed, hosts, per_host,
                     text_of(spans).c_str(), worker);
}

void all_reduce_in_several_levels_gives_the_bits_of_the_reference_in_any_order_of_events(void **) {
    for (const uint32_t seed : seeds(600, 6000)) check_levels(seed, 200);
    for (const uint32_t seed : seeds(10, 100)) check_levels(seed, 100'000);
}

/// How many bytes cross from or to a host, in the job of `links`.
uint64_t crossed(const Links &links, uint32_t host, uint32_t per_host, bool out) {
    uint64_t bytes = 0;
    for (uint32_t worker = 0; worker < links.size(); ++worker)
        for (uint32_t peer = 0; peer < links.size(); ++peer)
            if (worker / per_host != peer / per_host && (out ? worker : peer) / per_host == host)
                bytes += dynamic_cast<const CountingLink &>(*links[worker]).bytes_to(peer);
    return bytes;
}

void hosts_give_each_other_what_one_worker_of_each_would(void **) {
    constexpr uint32_t kHosts = 3, kPerHost = 4, kPerWorker = 2;
    constexpr uint64_t kElements = 12 * 6400;
    Random random(test_seed(1));
    const ReduceJob job(random, Spans::even(kHosts * kPerHost, kPerWorker), reduce::Op::kSum,
                        {{MDIST_FLOAT32, kElements}}, true);
    Links links;
    for (auto &link : make_inproc_links(kHosts * kPerHost))
        links.push_back(std::make_unique<CountingLink>(std::move(link)));
    reduce_all(random, job, links, 0, {job.spans(), kPerHost, {kHosts}});
    for (uint32_t host = 0; host < kHosts; ++host)
        assert_int_equal(crossed(links, host, kPerHost, true), 2 * kElements * sizeof(float) / kHosts * (kHosts - 1));
}

void a_row_that_scatters_gives_every_replica_its_part(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto per_host = static_cast<uint32_t>(1 + random() % 3);
        const auto parties = per_host * static_cast<uint32_t>(1 + random() % 7);
        const bool in_place = random() % 2 == 0;
        int32_t dtype = 0;
        do dtype = kAllDtypes[random() % std::size(kAllDtypes)];
        while (!takes(reduce::Op::kSum, dtype));
        const ReduceJob job(random, random_spans(random, parties, 4), reduce::Op::kSum,
                            {{dtype, 1 + random() % (seed % 4 == 0 ? 20'000 : 500)}}, in_place);
        const std::vector<uint64_t> parts = scatter(random, job, job.spans().replicas(), in_place);
        const Links links = make_inproc_links(parties);
        std::vector<Scratch> scratch(parties);
        std::vector<std::unique_ptr<ReduceRow>> flats;
        for (uint32_t worker = 0; worker < parties; ++worker)
            flats.push_back(std::make_unique<ReduceRow>(job.calls(worker), 0, parts, job.cut(), worker));
        const SplitPlan plan = random_plan(random, job.spans(), per_host);
        const uint64_t slice = random() % 3 == 0 ? 0 : 1 + random() % 100;
        const Headers headers = random() % 2 == 0 ? Headers::kNone : Headers::kToAll;
        drive(random, parties, [&](uint32_t party) {
            return make_split_sum(*links[party], OperationHeader::of(job.call(0), 1, 0), *flats[party], plan,
                                  JoinPlan(job.spans(), per_host), scratch[party], slice, headers);
        });
        check_scattered(job, parts, seed);
    }
}

void a_direct_agreement_gives_everybody_every_payload(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto parties = static_cast<uint32_t>(1 + random() % 6);
        const Links links = make_inproc_links(parties);
        std::vector<std::vector<unsigned char>> payloads;
        for (uint32_t party = 0; party < parties; ++party) payloads.push_back(random_bytes(random, random() % 3 * 50));
        // Twice on one link: what belongs to the second must not be taken for the first's.
        for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
            const Schedules schedules = drive(random, parties, [&](uint32_t party) {
                return std::make_unique<DirectAgreement>(*links[party], OperationHeader::of(Call(), sequence, 0),
                                                         message_of(payloads[party]));
            });
            for (const auto &schedule : schedules) {
                const auto &agreement = dynamic_cast<const DirectAgreement &>(*schedule);
                assert_true(agreement.hears_all());
                for (uint32_t party = 0; party < parties; ++party) {
                    const Link::Message come = agreement.payload(party);
                    assert_true(agreement.has_come(party));
                    assert_int_equal(come.bytes, payloads[party].size());
                    if (!payloads[party].empty())
                        assert_memory_equal(come.data, payloads[party].data(), payloads[party].size());
                }
            }
        }
    }
}

void broadcast_gives_everybody_the_roots_bytes(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto per_host = static_cast<uint32_t>(1 + random() % 4);
        const auto parties = per_host * static_cast<uint32_t>(1 + random() % 5);
        const auto root = static_cast<uint32_t>(random() % parties);
        std::vector<std::size_t> sizes(1 + random() % 4);
        for (std::size_t &size : sizes) size = random() % 3 * (random() % 200);
        std::vector<std::vector<std::vector<unsigned char>>> data(parties);
        std::vector<std::vector<Broadcast::Range>> ranges(parties);
        for (uint32_t party = 0; party < parties; ++party)
            for (const std::size_t size : sizes) data[party].push_back(random_bytes(random, size));
        for (uint32_t party = 0; party < parties; ++party)
            for (auto &part : data[party]) ranges[party].push_back({part.data(), part.size()});
        const Links links = make_inproc_links(parties);
        const std::size_t chunk = 1 + random() % 100;
        const auto expected = data[root];
        drive(random, parties, [&](uint32_t party) {
            return std::make_unique<Broadcast>(*links[party], 5, root, per_host, ranges[party], chunk);
        });
        for (uint32_t party = 0; party < parties; ++party) assert_true(data[party] == expected);
    }
}

void a_broadcast_crosses_to_each_host_once(void **) {
    constexpr uint32_t kHosts = 4, kPerHost = 3, kRoot = 7;
    constexpr std::size_t kBytes = 36 * 1000;
    Random random(test_seed(1));
    Links links;
    for (auto &link : make_inproc_links(kHosts * kPerHost))
        links.push_back(std::make_unique<CountingLink>(std::move(link)));
    std::vector<std::vector<char>> data(kHosts * kPerHost, std::vector<char>(kBytes));
    drive(random, kHosts * kPerHost, [&](uint32_t party) {
        return std::make_unique<Broadcast>(*links[party], 5, kRoot, kPerHost,
                                           std::vector<Broadcast::Range>{{data[party].data(), kBytes}}, 1000);
    });
    for (uint32_t host = 0; host < kHosts; ++host) {
        const bool has_root = host == kRoot / kPerHost;
        assert_int_equal(crossed(links, host, kPerHost, false), has_root ? 0 : kBytes);
        assert_int_equal(crossed(links, host, kPerHost, true), has_root ? kBytes : kBytes / 3 * 2);
    }
}

void transfer_moves_any_ranges_between_any_workers(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto parties = static_cast<uint32_t>(1 + random() % 6);
        std::vector<std::vector<Transfer::Outgoing>> sends(parties);
        std::vector<std::vector<Transfer::Incoming>> receives(parties);
        std::vector<std::vector<unsigned char>> from(random() % 20), to(from.size());
        for (std::size_t i = 0; i < from.size(); ++i) {
            from[i] = random_bytes(random, random() % 100);
            to[i].resize(from[i].size());
            const auto sender = static_cast<uint32_t>(random() % parties);
            const auto receiver = static_cast<uint32_t>(random() % parties);
            sends[sender].push_back({receiver, from[i].data(), from[i].size()});
            receives[receiver].push_back({sender, to[i].data(), to[i].size()});
        }
        const Links links = make_inproc_links(parties);
        drive(random, parties, [&](uint32_t party) {
            return std::make_unique<Transfer>(*links[party], 5, sends[party], receives[party]);
        });
        assert_true(to == from);
    }
}

/// Each worker has some pieces of any length; all take all of them.
void what_all_gather_crosses_to_each_host_once(void **) {
    for (const uint32_t seed : seeds(60, 600)) {
        Random random(seed);
        const auto per_host = static_cast<uint32_t>(1 + random() % 4), hosts = static_cast<uint32_t>(1 + random() % 4);
        const uint32_t parties = hosts * per_host;
        std::vector<std::pair<uint32_t, std::vector<unsigned char>>> pieces;
        uint64_t all = 0;
        for (uint64_t i = 0; i < random() % 12; ++i) {
            const auto giver = static_cast<uint32_t>(random() % parties);
            pieces.emplace_back(giver, random_bytes(random, random() % (seed % 8 == 0 ? 600'000 : 100)));
            all += pieces.back().second.size();
        }
        std::vector<std::vector<std::vector<char>>> to(parties);
        Links links;
        for (auto &link : make_inproc_links(parties)) links.push_back(std::make_unique<CountingLink>(std::move(link)));
        drive(random, parties, [&](uint32_t party) {
            HostGather gather(party, parties, per_host);
            for (const auto &[giver, bytes] : pieces) {
                std::vector<char> &room = to[party].emplace_back(bytes.begin(), bytes.end());
                if (giver != party) std::fill(room.begin(), room.end(), '\0');
                giver == party ? gather.give(room.data(), room.size())
                               : gather.receive(giver, room.data(), room.size());
            }
            std::vector<Transfer::Outgoing> sends;
            std::vector<Transfer::Incoming> receives;
            Transfer::Passed passed = gather.finish(sends, receives);
            return std::make_unique<Transfer>(*links[party], 5, sends, receives, nullptr, std::move(passed));
        });
        uint64_t sent = 0;
        for (uint32_t host = 0; host < hosts; ++host) sent += crossed(links, host, per_host, true);
        assert_int_equal(sent, all * (hosts - 1));
        for (uint32_t party = 0; party < parties; ++party)
            for (std::size_t i = 0; i < pieces.size(); ++i)
                assert_true(std::equal(pieces[i].second.begin(), pieces[i].second.end(), to[party][i].begin(),
                                       [](unsigned char a, char b) { return a == static_cast<unsigned char>(b); }));
    }
}

void another_operation_is_a_mismatch_on_both_sides(void **) {
    const Links links = make_inproc_links(2);
    float x = 1;
    Call barrier;
    barrier.kind = &calls::kBarrier;
    const char payload[] = "payload";
    Call reduce;
    const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
    reduce.kind = &calls::kAllReduce;
    reduce.op = MDIST_SUM;
    reduce.inputs = reduce.outputs = &buffer;
    reduce.buffer_count = 1;
    DirectAgreement first(*links[0], OperationHeader::of(barrier, 3, 0), {});
    DirectAgreement second(*links[1], OperationHeader::of(reduce, 3, 0), {payload, sizeof payload});
    for (const auto &[schedule, peer] : {std::pair<Schedule *, int>{&first, 1}, {&second, 0}}) {
        const Failure failure = failure_of([&, of = schedule] { of->advance(); });
        assert_int_equal(failure.status(), MDIST_ERR_MISMATCH);
        assert_int_equal(failure.worker(), peer);
        assert_non_null(std::strstr(failure.what(), "mdist_barrier()"));
        assert_non_null(std::strstr(failure.what(), "mdist_all_reduce(SUM, 1 buffer: float32 x 1)"));
    }
}

void a_payload_past_the_limit_is_refused_before_it_is_made_room_for(void **) {
    const Links links = make_inproc_links(2);
    DirectAgreement mine(*links[0], OperationHeader::of(Call(), 1, 0), {});
    const OperationHeader huge = OperationHeader::of(Call(), 1, uint64_t{1} << 60);
    Pending pending;
    links[1]->send(0, 1, &huge, sizeof huge, pending);
    assert_int_equal(failure_of([&] { mine.advance(); }).status(), MDIST_ERR_DATA_LOSS);
}

void a_closed_link_is_a_lost_peer_for_those_who_wait(void **) {
    const Links links = make_inproc_links(2);
    DirectAgreement schedule(*links[0], OperationHeader::of(Call(), 1, 0), {});
    assert_false(schedule.advance());
    links[1]->close();
    const Failure failure = failure_of([&] { schedule.advance(); });
    assert_int_equal(failure.status(), MDIST_ERR_PEER_LOST);
    assert_int_equal(failure.worker(), 1);
}

} // namespace

SUBJECT(schedule) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_gives_the_bits_of_the_reference_in_any_order_of_events),
        cmocka_unit_test(all_reduce_of_large_buffers_gives_the_bits_of_the_reference),
        cmocka_unit_test(all_reduce_in_several_levels_gives_the_bits_of_the_reference_in_any_order_of_events),
        cmocka_unit_test(hosts_give_each_other_what_one_worker_of_each_would),
        cmocka_unit_test(a_row_that_scatters_gives_every_replica_its_part),
        cmocka_unit_test(a_direct_agreement_gives_everybody_every_payload),
        cmocka_unit_test(broadcast_gives_everybody_the_roots_bytes),
        cmocka_unit_test(a_broadcast_crosses_to_each_host_once),
        cmocka_unit_test(transfer_moves_any_ranges_between_any_workers),
        cmocka_unit_test(what_all_gather_crosses_to_each_host_once),
        cmocka_unit_test(another_operation_is_a_mismatch_on_both_sides),
        cmocka_unit_test(a_payload_past_the_limit_is_refused_before_it_is_made_room_for),
        cmocka_unit_test(a_closed_link_is_a_lost_peer_for_those_who_wait),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
