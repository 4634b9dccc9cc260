// SPDX-License-Identifier: Apache-2.0
// Workers that call different things, each camp in an agreement of its own kind: somebody is told, and nobody gets
// through. And what follows the headers of an agreement stays where it is until that is done.
#include "comm/schedules/relayed_agreement.h"
#include "comm/schedules/tree_sum.h"
#include "inproc.h"
#include "subject.h"

#include <cstring>
#include <memory>

#include "schedule_support.h"

namespace {

using namespace mdist;

/// The kinds of agreement, with what an operation has right behind it.
enum class Kind { kTree, kRelays, kDirect, kSplit, kSplitByHosts };
constexpr Kind kKinds[] = {Kind::kTree, Kind::kRelays, Kind::kDirect, Kind::kSplit, Kind::kSplitByHosts};
constexpr const char *kNames[] = {"a tree sum", "relays", "directly", "to split a sum", "to split a sum by hosts"};

struct Layout {
    uint32_t workers;
    uint32_t per_host;
    bool by_hosts; // whether one worker of each host speaks for its mates, where they join

    bool takes(Kind kind) const {
        return kind != Kind::kSplitByHosts || (by_hosts && per_host > 1 && per_host < workers);
    }
    bool joins_by_hosts(Kind kind) const {
        return (kind == Kind::kTree || kind == Kind::kRelays) && by_hosts && per_host > 1 && per_host < workers;
    }
};

/// What all parties need.
class Parties {
  public:
    Parties(Random &random, const Layout &layout)
        : job_(random, Spans::even(layout.workers, 1), reduce::Op::kSum, {{MDIST_FLOAT32, 1 + random() % 2000}}, false),
          plan_(job_.spans(), layout.per_host, layout.by_hosts),
          flat_split_(random_plan(random, job_.spans(), 1)),
          split_(random_plan(random, job_.spans(), layout.per_host)),
          scratch_(layout.workers),
          links_(make_inproc_links(layout.workers)) {
        for (uint32_t worker = 0; worker < layout.workers; ++worker)
            rows_.push_back({ReduceRow(job_.calls(worker), MDIST_FLOAT32, job_.cut(), worker)});
        payload_ = random_bytes(random, random() % 100);
    }
    std::unique_ptr<Schedule> make(uint32_t party, Kind kind, bool other) {
        Link &link = *links_[party];
        Scratch &scratch = scratch_[party];
        const ReduceRow &row = rows_[party][0];
        Call call = job_.call(party);
        if (other) call.op = MDIST_MAX;
        const OperationHeader header = OperationHeader::of(call, 7, 0);
        const Link::Message payload = message_of(payload_);
        switch (kind) {
            case Kind::kTree:
                return std::make_unique<TreeSum>(link, header, plan_, rows_[party], scratch);
            case Kind::kRelays:
                return std::make_unique<RelayedAgreement>(link, header, plan_, payload, RelayedAgreement::kEveryone,
                                                          scratch);
            case Kind::kDirect:
                return std::make_unique<DirectAgreement>(link, header, payload);
            case Kind::kSplit:
                return make_split_sum(link, header, row, flat_split_, plan_, scratch, 0, Headers::kToAll);
            default:
                return make_split_sum(link, header, row, split_, plan_, scratch, 0, Headers::kToPeers);
        }
    }

  private:
    const ReduceJob job_;
    const JoinPlan plan_;
    const SplitPlan flat_split_, split_;
    std::vector<std::vector<ReduceRow>> rows_;
    std::vector<unsigned char> payload_;
    std::vector<Scratch> scratch_;
    const Links links_; // closed before anything else goes
};

std::string text_of(const Layout &layout, const Kind (&kinds)[2], const std::vector<bool> &others) {
    std::string text = std::to_string(layout.workers) + " workers, " + std::to_string(layout.per_host) +
                       " on each host" + (layout.by_hosts ? "" : " (all speak)") + ", " +
                       kNames[static_cast<int>(kinds[0])] + " against " + kNames[static_cast<int>(kinds[1])] + ": ";
    for (const bool other : others) text += other ? 'b' : 'a';
    return text;
}

/// Those of the second camp are `others`.
void check(Random &random, const Layout &layout, const Kind (&kinds)[2], const std::vector<bool> &others) {
    Parties parties(random, layout);
    Schedules schedules(layout.workers);
    for (uint32_t party = 0; party < layout.workers; ++party)
        schedules[party] = parties.make(party, kinds[others[party]], others[party]);
    uint32_t told = 0;
    const auto outcomes = run_out(random, schedules);
    for (uint32_t party = 0; party < layout.workers; ++party) {
        if (!outcomes[party]) continue;
        const Failure &failure = *outcomes[party];
        const bool right = failure.status() == MDIST_ERR_MISMATCH && failure.worker() < layout.workers &&
                           others[failure.worker()] != others[party] &&
                           std::strstr(failure.what(), "mdist_all_reduce(SUM") != nullptr &&
                           std::strstr(failure.what(), "mdist_all_reduce(MAX") != nullptr;
        if (!right)
            fail_msg("%s: worker %u: %s", text_of(layout, kinds, others).c_str(), party,
                     failure.status() == MDIST_OK ? "is done" : failure.what());
        ++told;
    }
    // Where one worker speaks for its mates, nobody tells it what it alone gets wrong.
    const uint32_t least = layout.joins_by_hosts(kinds[0]) || layout.joins_by_hosts(kinds[1]) ? 1 : 2;
    if (told < least) fail_msg("%s: %u told", text_of(layout, kinds, others).c_str(), told);
}

std::vector<bool> random_split(Random &random, uint32_t workers) {
    std::vector<bool> others(workers);
    const auto odd_one = static_cast<uint32_t>(random() % workers);
    for (uint32_t worker = 0; worker < workers; ++worker)
        others[worker] = worker == odd_one || (worker != (odd_one + 1) % workers && random() % 2 == 0);
    return others;
}

/// Each block of workers that joins with others, alone against all others.
void check_blocks(Random &random, const Layout &layout, const Kind (&kinds)[2]) {
    for (uint32_t size = layout.by_hosts ? layout.per_host : 1; size < layout.workers; size *= 2)
        for (uint32_t begin = 0; begin < layout.workers; begin += size) {
            std::vector<bool> others(layout.workers);
            for (uint32_t i = begin; i < std::min(begin + size, layout.workers); ++i) others[i] = true;
            check(random, layout, kinds, others);
        }
}

/// Any worker alone against the others, and splits of any kind: all of them among few workers.
void check_splits(Random &random, const Layout &layout, const Kind (&kinds)[2]) {
    if (layout.workers <= tiered(4, 6)) {
        for (uint32_t split = 1; split + 1 < 1u << layout.workers; ++split) {
            std::vector<bool> others(layout.workers);
            for (uint32_t worker = 0; worker < layout.workers; ++worker) others[worker] = (split >> worker & 1) != 0;
            check(random, layout, kinds, others);
        }
        return;
    }
    check_blocks(random, layout, kinds);
    const auto first = static_cast<uint32_t>(random() % layout.workers);
    for (uint32_t i = 0; i < tiered(2, layout.workers); ++i) {
        std::vector<bool> others(layout.workers);
        others[(first + i) % layout.workers] = true;
        check(random, layout, kinds, others);
    }
    for (uint32_t i = 0; i < tiered(2, 10); ++i) check(random, layout, kinds, random_split(random, layout.workers));
}

void whatever_two_camps_do_somebody_is_told_and_nobody_is_done(void **) {
    for (const uint32_t seed : seeds(1, 5)) {
        Random random(seed);
        for (uint32_t workers = 2; workers <= 12; ++workers)
            for (const uint32_t per_host : ways_to_share(workers))
                for (const bool by_hosts : {true, false}) {
                    if (!by_hosts && (per_host == 1 || per_host == workers)) continue; // the same
                    const Layout layout = {workers, per_host, by_hosts};
                    for (const Kind first : kKinds)
                        for (const Kind second : kKinds)
                            if (layout.takes(first) && layout.takes(second))
                                check_splits(random, layout, {first, second});
                }
    }
}

// ---- What follows the headers

/// The bytes of all outputs of a worker.
std::vector<unsigned char> outputs_of(const ReduceJob &job, uint32_t worker) {
    std::vector<unsigned char> bytes;
    for (uint32_t i = 0; i < job.spans()[worker].count(); ++i) {
        const Call &call = *job.calls(worker)[i];
        for (std::size_t b = 0; b < call.buffer_count; ++b) {
            const auto *const data = static_cast<const unsigned char *>(call.outputs[b].data);
            bytes.insert(bytes.end(), data, data + call.outputs[b].elements * dtype_size(call.outputs[b].dtype));
        }
    }
    return bytes;
}

/// Sums of one row behind headers, with a look at what each worker has received and written when it has heard its
/// peers.
class Watched {
  public:
    Watched(Random &random, uint32_t workers, uint32_t per_host, bool to_peers)
        : random_(random),
          to_peers_(to_peers),
          job_(random, random_spans(random, workers, 3), random_op(random),
               {{MDIST_INT32, 64 * workers + random() % 3000}, {MDIST_INT32, random() % 100}}, random() % 2 == 0),
          plan_(random_plan(random, job_.spans(), per_host)),
          joins_(job_.spans(), per_host),
          slice_(random() % 4 == 0 ? 0 : 1 + random() % 300),
          scratch_(workers) {
        for (auto &link : make_inproc_links(workers)) links_.push_back(std::make_unique<CountingLink>(std::move(link)));
        for (uint32_t worker = 0; worker < workers; ++worker) {
            rows_.push_back(std::make_unique<ReduceRow>(job_.calls(worker), MDIST_INT32, job_.cut(), worker));
            before_.push_back(outputs_of(job_, worker));
        }
    }
    std::unique_ptr<Schedule> make(uint32_t party, bool other) {
        Call call = job_.call(0);
        if (other) call.op = call.op == MDIST_SUM ? MDIST_MAX : MDIST_SUM;
        const OperationHeader header = OperationHeader::of(call, 7, 0);
        const std::vector<uint32_t> peers = plan_.peers(party, joins_);
        auto made = std::make_unique<BehindHeaders>(link(party), header, to_peers_ ? peers : std::vector<uint32_t>(),
                                                    *rows_[party], plan_, scratch_[party], slice_);
        sent_behind_ += link(party).sends_behind();
        check_untouched(party);
        made->when_agreed = [this, party] { check_untouched(party); };
        return made;
    }
    void check_untouched(uint32_t party) {
        assert_int_equal(link(party).receives_behind(), 0);
        assert_true(outputs_of(job_, party) == before_[party]);
    }
    uint32_t workers() const { return static_cast<uint32_t>(links_.size()); }
    CountingLink &link(uint32_t party) { return static_cast<CountingLink &>(*links_[party]); }

    void all_agree() {
        drive(random_, workers(), [&](uint32_t party) { return make(party, false); });
        for (uint32_t worker = 0; worker < workers(); ++worker) {
            assert_true(job_.right(worker));
            assert_true(link(worker).receives_behind() != 0);
        }
        assert_true(sent_behind_ != 0);
    }
    void some_disagree() {
        const std::vector<bool> others = random_split(random_, workers());
        Schedules schedules(workers());
        for (uint32_t party = 0; party < workers(); ++party) schedules[party] = make(party, others[party]);
        uint32_t told = 0;
        const auto outcomes = run_out(random_, schedules);
        for (uint32_t party = 0; party < workers(); ++party) {
            if (!outcomes[party]) continue;
            assert_int_equal(outcomes[party]->status(), MDIST_ERR_MISMATCH);
            check_untouched(party);
            ++told;
        }
        assert_true(told >= (to_peers_ ? 2 : workers()));
    }

  private:
    Random &random_;
    const bool to_peers_;
    const ReduceJob job_;
    const SplitPlan plan_;
    const JoinPlan joins_;
    const uint64_t slice_;
    uint64_t sent_behind_ = 0; // before anybody was heard
    std::vector<Scratch> scratch_;
    std::vector<std::unique_ptr<ReduceRow>> rows_;
    std::vector<std::vector<unsigned char>> before_;
    Links links_;
};

void what_follows_headers_waits_until_all_have_come(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto hosts = static_cast<uint32_t>(2 + random() % 3), per_host = static_cast<uint32_t>(2 + random() % 3);
        const bool to_peers = random() % 2 == 0;
        if (seed % 2 == 0)
            Watched(random, static_cast<uint32_t>(2 + random() % 7), 1, to_peers).all_agree();
        else
            Watched(random, hosts * per_host, per_host, to_peers).all_agree();
    }
}

void what_follows_headers_is_left_alone_where_workers_disagree(void **) {
    for (const uint32_t seed : seeds(300, 3000)) {
        Random random(seed);
        const auto hosts = static_cast<uint32_t>(2 + random() % 3), per_host = static_cast<uint32_t>(2 + random() % 3);
        const bool to_peers = random() % 2 == 0;
        if (seed % 2 == 0)
            Watched(random, static_cast<uint32_t>(2 + random() % 7), 1, to_peers).some_disagree();
        else
            Watched(random, hosts * per_host, per_host, to_peers).some_disagree();
    }
}

/// One of the workers gives its header late: until then, the others have sent, and nobody goes on.
void who_has_come_is_known_of_peers(void **) {
    constexpr uint32_t kWorkers = 6, kPerHost = 2, kLate = 5;
    const Spans spans = Spans::even(kWorkers, 1);
    const SplitPlan plan(spans, kPerHost, {3});
    const JoinPlan joins(spans, kPerHost);
    const Links links = make_inproc_links(kWorkers);
    const OperationHeader header = OperationHeader::of(Call(), 7, 0);
    std::vector<std::unique_ptr<DirectAgreement>> parts;
    for (uint32_t party = 0; party < kLate; ++party)
        parts.push_back(
            std::make_unique<DirectAgreement>(*links[party], header, Link::Message(), plan.peers(party, joins)));
    for (int i = 0; i < 3; ++i)
        for (uint32_t party = 0; party < kLate; ++party) {
            const bool meets_late = party / kPerHost == kLate / kPerHost || party % kPerHost == kLate % kPerHost;
            const bool done = parts[party]->advance();
            if (i > 1) assert_int_equal(done, !meets_late);
        }
    for (uint32_t party = 0; party < kLate; ++party) {
        const std::vector<uint32_t> peers = plan.peers(party, joins);
        assert_false(parts[party]->hears_all());
        for (uint32_t other = 0; other < kWorkers; ++other) {
            const bool is_peer = std::find(peers.begin(), peers.end(), other) != peers.end();
            assert_int_equal(parts[party]->has_come(other), other == party || (is_peer && other != kLate));
            assert_int_equal(parts[party]->payload(other).bytes, 0);
        }
    }
}

} // namespace

SUBJECT(call_agreement) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(whatever_two_camps_do_somebody_is_told_and_nobody_is_done),
        cmocka_unit_test(what_follows_headers_waits_until_all_have_come),
        cmocka_unit_test(what_follows_headers_is_left_alone_where_workers_disagree),
        cmocka_unit_test(who_has_come_is_known_of_peers),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
