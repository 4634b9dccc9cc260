// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/carried.h"

#include "comm/call/bad_message.h"
#include "comm/call/buffers.h"
#include "comm/plan/plan.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/transfer.h"
#include "comm/workers/halved_sum.h"
#include "comm/workers/known_lengths.h"
#include "comm/workers/operation.h"
#include "comm/workers/small_parts.h"
#include "comm/workers/told_operation.h"
#include "reduce/float_environment.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace mdist::workers {
namespace {

// Copying more than this to a payload and back costs more than a trip to a root, or a trip through the memory that two
// workers share.
constexpr std::size_t kCheapCopy = 16384;

bool sums_parts(Pattern pattern) {
    return pattern == Pattern::kReduceScatter || pattern == Pattern::kReduceToRoot;
}
/// Whether the giver has to know the lengths of other workers' pieces.
bool needs_others_lengths(Pattern pattern) {
    return pattern == Pattern::kReduceScatter || pattern == Pattern::kFromRoot;
}

/// Whether the bytes follow the payload as messages of their own.
bool sends_behind(Pattern pattern) {
    return !sums_parts(pattern) && !needs_others_lengths(pattern);
}

class Carrying {
  public:
    explicit Carrying(const Collective &asked)
        : asked_(asked),
          pattern_(asked.call().kind->pattern()),
          told_(has_parts(pattern_)),
          self_(asked.workers.self()),
          payload_data_(asked.workers.count()),
          packages_(asked.workers.count()) {
        if (told_) table_ = ToldLengths::table_of(asked.calls, asked.span().count());
        for (std::vector<char> &payload : payload_data_) payload.resize(head_bytes(self_));
        write_data();
        put_together();
    }

    void run() {
        WorkerOperation operation(asked_.workers, asked_.call(), packages_, behind_, asked_.timeout_ns);
        operation_ = &operation;
        try {
            learn_lengths();
        } catch (const Failure &failure) {
            operation.fail(failure);
        }
        sums_parts(pattern_) ? sum() : copy();
    }

  private:
    static constexpr std::size_t kHash = sizeof(uint64_t);

    uint32_t workers() const { return asked_.workers.count(); }

    /// The bytes of a worker's table and hash.
    std::size_t head_bytes(uint32_t worker) const {
        if (!told_) return 0;
        const std::size_t numbers = asked_.workers.spans()[worker].count() * asked_.call().buffer_count;
        return numbers * ToldLengths::width(asked_.call()) * sizeof(uint64_t) + kHash;
    }
    /// All payloads of a worker in a call, in both directions. If more is freed at once, glibc gives the memory back to
    /// the system, and fresh pages cost more than a trip.
    static constexpr std::size_t kMostTogether = 196608;
    /// The most that goes along for one worker. The same on all workers.
    std::size_t most_piece() const {
        std::size_t head = 0; // the longest
        for (uint32_t worker = 0; worker < workers(); ++worker) head = std::max(head, head_bytes(worker));
        const bool cheap_trips = asked_.workers.all_share() && workers() == 2;
        const std::size_t most = cheap_trips ? kCheapCopy : SmallExchange::kPayloadLimit;
        return most - std::min(most, head);
    }
    /// The same for a worker that does not know what the others give.
    std::size_t most_data() const { return std::min(most_piece(), kMostTogether / 2 / (workers() - 1)); }

    /// A hash of what this worker knows of the call.
    uint64_t key() const { return hash_of(table_, fingerprint(asked_.call())); }

    /// Writes what goes along for each worker, as far as it is known.
    void write_data() {
        std::vector<uint64_t> remembered;
        if (needs_others_lengths(pattern_)) {
            auto &all = asked_.workers.remembered_pieces();
            const auto found = all.find(key());
            if (found == all.end()) return;
            remembered = found->second;
            hash_ = hash_of(remembered);
        }
        const KnownLengths known(asked_, remembered);
        if (needs_others_lengths(pattern_) && !known.own_pieces_fit()) return;
        if (sends_behind(pattern_))
            each_given(known, [&](uint32_t peer, const char *from, std::size_t count) {
                packages_[peer].behind.push_back({from, count});
            });
        else
            sums_parts(pattern_) ? write_partials(known) : write_copies(known);
    }

    void write_copies(const Lengths &known) {
        std::vector<std::size_t> bytes(workers());
        each_given(known, [&](uint32_t peer, const char *, std::size_t count) { bytes[peer] += count; });
        for (uint32_t peer = 0; peer < workers(); ++peer)
            if (bytes[peer] <= most_data()) payload_data_[peer].reserve(head_bytes(self_) + bytes[peer]);
        each_given(known, [&](uint32_t peer, const char *from, std::size_t count) {
            std::vector<char> &payload = payload_data_[peer];
            if (bytes[peer] <= most_data()) payload.insert(payload.end(), from, from + count);
        });
    }

    /// Calls use(peer, data, bytes) for all that this worker gives to others.
    template <class Use>
    void each_given(const Lengths &lengths, Use use) const {
        Plan(asked_.call(), lengths).each_move_of(asked_.span(), [&](const Move &move) {
            const std::size_t bytes = move.elements * dtype_size(asked_.call().inputs[move.buffer].dtype);
            if (!asked_.has(move.from) || bytes == 0) return;
            const char *const from = at(asked_.call_of(move.from).inputs[move.buffer], move.input_begin);
            for (uint32_t peer = 0; peer < workers(); ++peer)
                if (peer != self_ && (move.to == Move::kAll || asked_.worker_of(move.to) == peer))
                    use(peer, from, bytes);
        });
    }

    static uint64_t part_elements(const ReduceRow &row, uint32_t worker, uint32_t workers) {
        return (worker + 1 < workers ? row.part_begin(worker + 1) : row.elements()) - row.part_begin(worker);
    }
    /// The bytes of the partials that one worker gives to another.
    std::size_t partial_bytes(const std::vector<ReduceRow> &rows, uint32_t from, uint32_t to) const {
        std::size_t bytes = 0;
        for (const ReduceRow &row : rows)
            bytes += part_elements(row, to, workers()) * row.partial_size() * row.cut().count(from);
        return bytes;
    }
    /// Whether all partials fit. The same on all workers that know the same lengths.
    bool all_fit(const std::vector<ReduceRow> &rows) const {
        std::vector<std::size_t> moved(workers()); // from and to each worker
        for (uint32_t from = 0; from < workers(); ++from)
            for (uint32_t to = 0; to < workers(); ++to) {
                const std::size_t bytes = from != to ? partial_bytes(rows, from, to) : 0;
                if (bytes > most_piece()) return false;
                moved[from] += bytes;
                moved[to] += bytes;
            }
        return *std::max_element(moved.begin(), moved.end()) <= kMostTogether;
    }

    void write_partials(const Lengths &known) {
        const std::vector<ReduceRow> rows = rows_of_parts(asked_, known);
        if (!all_fit(rows)) return;
        for (uint32_t peer = 0; peer < workers(); ++peer) {
            if (peer == self_) continue;
            payload_data_[peer].resize(head_bytes(self_) + partial_bytes(rows, self_, peer));
            char *to = payload_data_[peer].data() + head_bytes(self_);
            for (const ReduceRow &row : rows) {
                const uint64_t count = part_elements(row, peer, workers());
                for (uint32_t i = 0; i < row.partial_count() && count != 0; ++i, to += count * row.partial_size())
                    row.partial(i, row.part_begin(peer), count, to);
            }
        }
    }

    void put_together() {
        const std::size_t bytes = table_.size() * sizeof(uint64_t);
        for (uint32_t peer = 0; peer < workers(); ++peer) {
            std::vector<char> &payload = payload_data_[peer];
            if (bytes != 0) std::memcpy(payload.data(), table_.data(), bytes);
            if (told_) std::memcpy(payload.data() + bytes, &hash_, kHash);
            packages_[peer].payload = {payload.data(), payload.size()};
        }
    }

    /// Finds out the lengths and checks them.
    void learn_lengths() {
        if (!told_) {
            lengths_ = std::make_unique<CallLengths>(Calls(asked_.calls, 0, asked_.workers.replica_count()));
            return;
        }
        Blobs tables;
        for (uint32_t worker = 0; worker < workers(); ++worker) {
            const std::size_t head = head_bytes(worker), bytes = operation_->payload_bytes(worker);
            if (bytes < head)
                throw bad_message(asked_.workers.rank(worker), text(bytes, " bytes that are not a table of lengths"));
            const char *const from = operation_->payload(worker);
            tables.emplace_back(from, from + head - kHash);
        }
        lengths_ = std::make_unique<ToldLengths>(told_lengths(asked_, tables));
        check_told(*lengths_, asked_);
        if (needs_others_lengths(pattern_)) remember();
        remember_tables(asked_, tables);
        remember_whether_small(asked_, *lengths_);
    }

    void remember() {
        constexpr std::size_t kMost = 256;
        std::vector<uint64_t> pieces = pieces_of(*lengths_, asked_.call().buffer_count);
        true_hash_ = hash_of(pieces);
        auto &all = asked_.workers.remembered_pieces();
        if (true_hash_ == hash_) return; // it is remembered
        if (all.size() >= kMost) all.clear();
        all[key()] = std::move(pieces);
    }

    /// Whether a worker knew the lengths, so that what it has sent along is of use.
    bool knew(uint32_t worker) const {
        if (!needs_others_lengths(pattern_)) return true;
        uint64_t hash = 0;
        std::memcpy(&hash, operation_->payload(worker) + head_bytes(worker) - kHash, kHash);
        return hash == true_hash_;
    }
    const char *carried(uint32_t worker) const { return operation_->payload(worker) + head_bytes(worker); }
    std::size_t carried_bytes(uint32_t worker) const { return operation_->payload_bytes(worker) - head_bytes(worker); }

    /// Whether the bytes that `worker` gives to this one came along. If so, they must be `due` bytes.
    bool came_along(uint32_t worker, std::size_t due) const {
        if (sends_behind(pattern_) || !knew(worker) || due > most_data()) return false;
        require_bytes(worker, due);
        return true;
    }
    void require_bytes(uint32_t worker, std::size_t due) const {
        if (carried_bytes(worker) != due)
            operation_->fail(bad_message(asked_.workers.rank(worker),
                                         text(carried_bytes(worker), " bytes with an operation instead of ", due)));
    }

    void copy() {
        const Call &first = asked_.call();
        const Plan plan(first, *lengths_);
        const auto bytes_of_move = [&](const Move &move) {
            return move.elements * dtype_size(first.inputs[move.buffer].dtype);
        };
        const auto takes = [&](const Move &move) { return move.to == Move::kAll || asked_.has(move.to); };
        std::vector<std::size_t> due(workers()), give(workers());
        bool to_all = false;
        plan.each_move_of(asked_.span(), [&](const Move &move) {
            to_all = to_all || move.to == Move::kAll;
            if (takes(move) && !asked_.has(move.from)) due[asked_.worker_of(move.from)] += bytes_of_move(move);
        });
        each_given(*lengths_, [&](uint32_t peer, const char *, std::size_t bytes) { give[peer] += bytes; });
        std::vector<const char *> from(workers()); // what came along; null: it comes later
        for (uint32_t worker = 0; worker < workers(); ++worker)
            if (worker != self_ && came_along(worker, due[worker])) from[worker] = carried(worker);
        std::vector<Transfer::Outgoing> sends;
        std::vector<Transfer::Incoming> receives;
        each_given(*lengths_, [&](uint32_t peer, const char *data, std::size_t bytes) {
            if (!sends_behind(pattern_) && (!knew(self_) || give[peer] > most_data()))
                sends.push_back({peer, data, bytes});
        });
        plan.each_move_of(asked_.span(), [&](const Move &move) {
            const std::size_t bytes = bytes_of_move(move);
            if (!takes(move) || bytes == 0) return;
            const Call &taker = move.to == Move::kAll ? first : asked_.call_of(move.to);
            char *const to = at(taker.outputs[move.buffer], move.output_begin);
            if (asked_.has(move.from)) {
                const char *const own = at(asked_.call_of(move.from).inputs[move.buffer], move.input_begin);
                if (own != to) std::memcpy(to, own, bytes);
                return;
            }
            const uint32_t worker = asked_.worker_of(move.from);
            if (from[worker] == nullptr) return receives.push_back({worker, to, bytes});
            std::memcpy(to, from[worker], bytes);
            from[worker] += bytes;
        });
        if (!sends.empty() || !receives.empty() || !behind_.done())
            operation_->run<Transfer>(operation_->tag(), sends, receives, &behind_);
        if (to_all) spread(asked_);
    }

    void sum() {
        const reduce::FloatEnvironment environment;
        const std::vector<ReduceRow> rows = rows_of_parts(asked_, *lengths_);
        bool along = all_fit(rows);
        for (uint32_t worker = 0; worker < workers(); ++worker) along = along && knew(worker);
        if (!along) {
            for (const ReduceRow &row : rows)
                if (row.elements() != 0) operation_->run<AllReduce>(operation_->tag(), row, operation_->scratch());
            return;
        }
        std::vector<const char *> from(workers());
        for (uint32_t worker = 0; worker < workers(); ++worker) {
            if (worker == self_) continue;
            require_bytes(worker, partial_bytes(rows, worker, self_));
            from[worker] = carried(worker);
        }
        for (const ReduceRow &row : rows) combine(row, from);
    }

    /// Combines all workers' partials of this worker's part. Moves `from` on to the next row.
    void combine(const ReduceRow &row, std::vector<const char *> &from) {
        const reduce::Cut &cut = row.cut();
        const uint64_t begin = row.part_begin(self_), count = part_elements(row, self_, workers());
        if (count == 0) return;
        const std::size_t bytes = count * row.partial_size(), own = bytes * row.partial_count();
        const std::size_t results = count * dtype_size(row.dtype());
        char *const scratch = asked_.workers.scratch().take(own + results);
        std::vector<const void *> partials(cut.subtrees().size());
        for (uint32_t worker = 0; worker < workers(); ++worker) {
            const char *at = worker == self_ ? static_cast<const char *>(row.partials(begin, count, scratch + results))
                                             : std::exchange(from[worker], from[worker] + bytes * cut.count(worker));
            for (uint32_t i = 0; i < cut.count(worker); ++i) partials[cut.first(worker) + i] = at + i * bytes;
        }
        void *const to = row.room(begin, count, scratch);
        reduce::combine_partials(row.operation(), cut, partials.data(), &to, 1, count);
        row.take(begin, count, to);
    }

    const Collective &asked_;
    const Pattern pattern_;
    const bool told_; // the workers tell each other the lengths of their pieces
    const uint32_t self_;
    std::vector<uint64_t> table_;
    uint64_t hash_ = 0;                           // of the lengths that are remembered
    uint64_t true_hash_ = 1;                      // of the lengths that the workers have told
    std::vector<std::vector<char>> payload_data_; // by worker: table, hash, and what goes along
    std::vector<SmallExchange::Package> packages_;
    Pending behind_; // messages behind the payloads
    WorkerOperation *operation_ = nullptr;
    std::unique_ptr<Lengths> lengths_;
};

/// Whether the partials of a reduction to a root are few. If not, the root has to copy too much.
bool is_small_sum(const Collective &asked) {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < asked.call().buffer_count; ++b)
        bytes += asked.call().inputs[b].elements *
                 reduce::partial_size(asked.call().inputs[b].dtype, asked.workers.cut()) * asked.workers.cut().most();
    return bytes <= kCheapCopy;
}

} // namespace

bool may_carry(const Collective &asked) {
    const Call &call = asked.call();
    if (call.kind->pattern() == Pattern::kReduceToRoot && !is_small_sum(asked)) return false;
    switch (call.kind->pattern()) {
        case Pattern::kGather:
        case Pattern::kToRoot:
        case Pattern::kFromRoot:
        case Pattern::kReduceScatter:
        case Pattern::kReduceToRoot:
        case Pattern::kTranspose:
        case Pattern::kTransposeParts:
            break;
        default:
            return false;
    }
    return has_small_tables(asked);
}

void perform_carrying(const Collective &asked) {
    Carrying(asked).run();
}

} // namespace mdist::workers
