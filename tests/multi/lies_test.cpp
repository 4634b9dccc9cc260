// SPDX-License-Identifier: Apache-2.0
// Workers among whom one gives bytes, with its header, that cannot be right: the others refuse them, and name it.
#include "comm/schedules/relayed_agreement.h"
#include "comm/workers/parts.h"
#include "crowd.h"
#include "subject.h"

#include <cstring>
#include <mutex>

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint32_t kFew = 3, kMany = 17; // workers that agree directly, and by relays
constexpr uint32_t kLiar = 1;

using Bytes = std::vector<char>;

/// One collective of one buffer of floats, with one replica on each worker.
struct Calls {
    /// `pieces`: each replica's elements.
    Calls(const CallFunction &function, const std::vector<uint64_t> &pieces) : pieces_(pieces) {
        const auto replicas = static_cast<uint32_t>(pieces.size());
        joined_ = std::accumulate(pieces.begin(), pieces.end(), uint64_t{0});
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            const bool has_joined = !function.traits().has_root || replica == kLiar;
            const mdist_buffer_t piece = floats(pieces[replica]), all = floats(has_joined ? joined_ : 0);
            const bool gives_pieces = function.traits().joins && !function.traits().cuts;
            inputs_.push_back(gives_pieces ? piece : all);
            outputs_.push_back(gives_pieces ? all : piece);
        }
        calls_.resize(replicas);
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            Call &call = calls_[replica];
            call.kind = &function;
            call.op = function.pattern() == Pattern::kReduceScatter ? MDIST_SUM : 0;
            call.root = function.traits().has_root ? kLiar : 0;
            call.inputs = &inputs_[replica];
            call.outputs = &outputs_[replica];
            call.buffer_count = 1;
            pointers_.push_back(&call);
        }
    }
    const Call *const *all() const { return pointers_.data(); }
    const Call &of_liar() const { return calls_[kLiar]; }
    /// The table that the liar should send.
    std::vector<uint64_t> table() const { return ToldLengths::table_of(&pointers_[kLiar], 1); }
    uint64_t joined() const { return joined_; }
    uint64_t piece(uint32_t replica) const { return pieces_[replica]; }

  private:
    mdist_buffer_t floats(uint64_t elements) {
        memory_.emplace_back(elements + 1, 1.0f);
        return {memory_.back().data(), elements, MDIST_FLOAT32, 0};
    }

    const std::vector<uint64_t> pieces_;
    uint64_t joined_ = 0;
    std::deque<std::vector<float>> memory_;
    std::vector<mdist_buffer_t> inputs_, outputs_;
    std::vector<Call> calls_;
    std::vector<const Call *> pointers_;
};

/// What the liar sends: the length that it tells, what goes along with that, and what it sends behind, to each worker.
struct Lie {
    uint64_t length;
    Bytes along, behind;
};

Bytes bytes_of(const std::vector<uint64_t> &table, std::size_t data = 0) {
    Bytes bytes(table.size() * sizeof(uint64_t) + data, 'x');
    std::memcpy(bytes.data(), table.data(), table.size() * sizeof(uint64_t));
    return bytes;
}

/// A blob as a worker should send it that has this one. `most`: the longest one that goes along.
Lie blob(const Bytes &bytes, std::size_t most = 60000) {
    if (bytes.size() <= most) return {bytes.size(), bytes, {}};
    return {bytes.size(), {}, bytes};
}

/// The liar's part: the right header with a wrong payload. It goes on until the job has failed.
void lie(Workers &group, const Call &call, const Lie &lie, uint32_t workers) {
    const OperationHeader header = OperationHeader::of(call, group.enter(), 0);
    Bytes payload(sizeof lie.length);
    std::memcpy(payload.data(), &lie.length, sizeof lie.length);
    payload.insert(payload.end(), lie.along.begin(), lie.along.end());
    const Link::Message message = {payload.data(), payload.size()};
    Link &link = group.link();
    std::unique_ptr<Schedule> agreement;
    Pending behind;
    failure_of([&] {
        if (workers > kFew)
            agreement = std::make_unique<RelayedAgreement>(link, header, group.join_plan(), message,
                                                           RelayedAgreement::kEveryone, group.scratch());
        else
            agreement = std::make_unique<DirectAgreement>(link, header, message);
        bool agreed = false;
        while (!group.membership().failed()) {
            if (!agreed && agreement->advance()) {
                agreed = true;
                for (uint32_t peer = 0; peer < workers && !lie.behind.empty(); ++peer)
                    if (peer != kLiar)
                        link.send(peer, header.sequence << 32, lie.behind.data(), lie.behind.size(), behind);
            }
            if (agreed) link.progress();
            link.wait(1'000'000);
        }
    });
    link.close();
}

void check_refused(const Calls &calls, const Lie &told, const char *what, uint32_t workers = kFew) {
    Crowd crowd(Spans::even(workers, 1), 1);
    std::vector<Failure> failures(workers, {MDIST_OK, ""});
    crowd.each([&](uint32_t worker) {
        const reduce::FloatEnvironment environment;
        if (worker == kLiar) return lie(crowd.group(worker), calls.of_liar(), told, workers);
        failures[worker] = failure_of([&] { workers::perform_parts(Crowd::Asked(crowd, worker, calls.all())); });
        (crowd.group(worker).fail)(Failure(MDIST_ERR_ABORTED, "the liar should go, too")); // cmocka has a macro fail()
    });
    for (uint32_t worker = 0; worker < workers; ++worker) {
        if (worker == kLiar) continue;
        if (failures[worker].status() != MDIST_ERR_DATA_LOSS || failures[worker].worker() != kLiar)
            fail_msg("%s, %s: worker %u: status %d, worker %d: %s", calls.of_liar().kind->name(), what, worker,
                     failures[worker].status(), static_cast<int>(failures[worker].worker()), failures[worker].what());
    }
}

void payloads_that_are_no_blobs_are_refused(void **) {
    const Calls calls(calls::kAllGather, {2, 3, 4});
    const Bytes table = bytes_of(calls.table());
    check_refused(calls, {table.size() + 8, table, {}}, "less than it says");
    check_refused(calls, {table.size() - 8, table, {}}, "more than it says");
    check_refused(calls, {0, table, {}}, "something though it says nothing");
    check_refused(calls, {uint64_t{1} << 62, table, {}}, "something though it should come behind");
}

void tables_of_another_length_are_refused(void **) {
    for (const uint32_t workers : {kFew, kMany})
        for (const CallFunction *const function :
             {&calls::kAllGather, &calls::kGatherToRoot, &calls::kScatter, &calls::kReduceScatter}) {
            const Calls calls(*function, std::vector<uint64_t>(workers, 3000)); // too many bytes to go along
            for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{15}, std::size_t{24}}) {
                Bytes table = bytes_of(calls.table());
                table.resize(bytes);
                check_refused(calls, blob(table), "a table of another length", workers);
            }
        }
}

void data_of_another_length_than_told_is_refused(void **) {
    for (const uint32_t workers : {kFew, kMany})
        for (const CallFunction *const function :
             {&calls::kAllGather, &calls::kGatherToRoot, &calls::kScatter, &calls::kReduceScatter}) {
            std::vector<uint64_t> pieces(workers, 2);
            pieces[kLiar] = 4;
            const Calls calls(*function, pieces);
            const bool gathers = (function->traits().joins && !function->traits().cuts);
            const std::size_t due = (gathers ? 4 : calls.joined()) * sizeof(float);
            const std::size_t padded = (due + 7) / 8 * 8;
            for (const std::size_t data : {padded - 8, padded - 1, padded + 1, padded + 8, std::size_t{40000}})
                check_refused(calls, blob(bytes_of(calls.table(), data), workers > kFew ? 30000 : 60000),
                              "data of another length", workers);
            // Directly, a gather's data follows the header in a message of its own.
            if (gathers && workers == kFew)
                check_refused(calls, blob(bytes_of(calls.table(), padded)), "data where none belongs");
            if (function->pattern() == Pattern::kReduceScatter)
                check_refused(calls, blob(bytes_of(calls.table())), "no partials", workers);
        }
}

void data_of_a_worker_that_should_send_none_is_refused(void **) {
    // The others know that their own partials are too many.
    Calls sums(calls::kReduceScatter, {5000, 5000, 5000});
    check_refused(sums, blob(bytes_of(sums.table(), 15000 * sizeof(float)), 0), "partials nevertheless");
    // A root that gives too much to go along.
    Calls parts(calls::kScatter, {5000, 5000, 5000});
    check_refused(parts, blob(bytes_of(parts.table(), 15000 * sizeof(float)), 60000), "much data nevertheless");
    check_refused(parts, blob(bytes_of(parts.table(), 65536)), "as much data as a payload may have");
}

/// The root says that its own piece is as long as an address may be, so that the next worker's piece begins far behind
/// what came along.
void data_along_with_huge_lengths_is_refused(void **) {
    for (const uint32_t workers : {kFew, kMany}) {
        const Calls calls(calls::kScatter, std::vector<uint64_t>(workers, 2));
        const uint64_t others = calls.joined() - calls.piece(kLiar);
        for (const uint64_t own :
             {uint64_t{65536}, uint64_t{1} << 40, uint64_t{1} << 61, uint64_t{1} << 62, UINT64_MAX - others})
            for (const std::size_t data : {std::size_t{8}, std::size_t{1000}, std::size_t{65536}, std::size_t{262144}})
                check_refused(calls, blob(bytes_of({own, own + others}, data), workers > kFew ? 30000 : 60000),
                              "a huge length", workers);
    }
}

} // namespace

SUBJECT(lies) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(payloads_that_are_no_blobs_are_refused),
        cmocka_unit_test(tables_of_another_length_are_refused),
        cmocka_unit_test(data_of_another_length_than_told_is_refused),
        cmocka_unit_test(data_of_a_worker_that_should_send_none_is_refused),
        cmocka_unit_test(data_along_with_huge_lengths_is_refused),
    };
    return cmocka_run_group_tests_name("multi/lies", tests, nullptr, nullptr);
}
