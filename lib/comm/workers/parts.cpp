// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/parts.h"

#include "comm/call/bad_message.h"
#include "comm/call/buffers.h"
#include "comm/plan/plan.h"
#include "comm/schedules/host_gather.h"
#include "comm/schedules/relayed_agreement.h"
#include "comm/schedules/transfer.h"
#include "comm/workers/blobs.h"
#include "comm/workers/scattered_sum.h"
#include "comm/workers/sizes.h"
#include "comm/workers/sums.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace mdist::workers {
namespace {

constexpr std::size_t kAlignment = 8; // of data in a payload

/// The bytes of the table in which a worker tells its lengths.
std::size_t table_bytes(const Collective &asked, uint32_t worker) {
    return asked.workers.spans()[worker].count() * asked.call().buffer_count * ToldLengths::width(asked.call()) *
           sizeof(uint64_t);
}

/// No worker has more to tell: a table, or one so short that data goes along.
std::size_t longest_blob(const Collective &asked) {
    std::size_t longest = CallAgreement::kPayloadLimit;
    for (uint32_t worker = 0; worker < asked.workers.count(); ++worker)
        longest = std::max({longest, table_bytes(asked, worker), most_inline(asked.workers, false)});
    return longest;
}

std::string table_of(const Collective &asked) {
    const std::vector<uint64_t> table = ToldLengths::table_of(asked.calls, asked.span().count());
    const auto *const from = reinterpret_cast<const char *>(table.data());
    return {from, from + table.size() * sizeof(uint64_t)};
}

/// The lengths in the workers' tables. Throws MISMATCH if they do not fit together, or INVALID_ARGUMENT if a local
/// buffer works in place elsewhere.
ToldLengths checked_lengths(const Collective &asked, const Blobs &tables) {
    const Call &call = asked.call();
    ToldLengths lengths(tables, asked.workers.spans(), call.buffer_count, ToldLengths::width(call),
                        asked.workers.layout());
    check_lengths(lengths, call);
    for (uint32_t slot = asked.span().first; slot < asked.span().last; ++slot) {
        const uint32_t replica = asked.workers.position_of(slot);
        for (std::size_t b = 0; b < call.buffer_count; ++b)
            check_place(asked.call_of(replica), replica, b, lengths.offset(replica, b));
    }
    return lengths;
}

/// What this worker's own calls say; nothing of the others.
class OwnLengths final : public Lengths {
  public:
    explicit OwnLengths(const Collective &asked) : asked_(asked) {}
    uint32_t replicas() const override { return asked_.workers.replica_count(); }
    uint64_t piece(uint32_t replica, std::size_t b) const override {
        return asked_.has(replica) ? own(replica).piece(0, b) : 0;
    }
    uint64_t joined(uint32_t replica, std::size_t b) const override {
        return asked_.has(replica) ? own(replica).joined(0, b) : 0;
    }
    uint64_t given(uint32_t from, uint32_t to, std::size_t b) const override {
        if (!asked_.has(from)) return 0;
        const Call &call = asked_.call_of(from);
        return call.input_parts[b * call.part_count + to];
    }
    uint64_t taken(uint32_t, uint32_t, std::size_t) const override { return 0; } // a giver need not know

  private:
    CallLengths own(uint32_t replica) const {
        return CallLengths(Calls(asked_.calls + (asked_.workers.slot_of(replica) - asked_.span().first), 0, 1));
    }
    const Collective &asked_;
};

/// What a worker can give to all workers along with its table: data for each of its replicas and buffers. It is the
/// replica's input. In a sum, it is the worker's partials, and only the first replica has any.
class DataAlong {
  public:
    /// Refers to both arguments. Of workers whose lengths are not known, nothing may be asked.
    DataAlong(const Collective &asked, const Lengths &lengths)
        : asked_(asked), call_(asked.call()), pattern_(call_.kind->pattern()), lengths_(lengths) {}

    std::size_t bytes(uint32_t replica, std::size_t b) const {
        const mdist_buffer_t &buffer = call_.inputs[b];
        if (pattern_ == Pattern::kReduceScatter) {
            const uint32_t worker = asked_.worker_of(replica);
            const reduce::Cut &cut = asked_.workers.cut();
            const bool first = asked_.workers.spans()[worker].first == replica;
            return first ? buffer.elements * reduce::partial_size(buffer.dtype, cut) * cut.count(worker) : 0;
        }
        if (pattern_ == Pattern::kFromRoot && replica != call_.root) return 0;
        const uint64_t elements =
            pattern_ == Pattern::kFromRoot ? lengths_.joined(replica, b) : lengths_.piece(replica, b);
        // A peer may tell any length. This is more than ever goes along.
        constexpr uint64_t kMost = RelayedAgreement::kMessageLimit;
        return std::min(elements, kMost) * dtype_size(buffer.dtype);
    }
    /// Calls use(replica, buffer, first byte in the blob) for all data of a worker. Returns where the last one ends.
    template <class Use>
    std::size_t each(uint32_t worker, Use use) const {
        const Span span = asked_.workers.spans()[worker];
        std::size_t begin = table_bytes(asked_, worker);
        for (uint32_t slot = span.first; slot < span.last; ++slot) {
            const uint32_t replica = asked_.workers.position_of(slot);
            for (std::size_t b = 0; b < call_.buffer_count; ++b) {
                use(replica, b, begin);
                begin += round_up(bytes(replica, b), kAlignment);
            }
        }
        return begin;
    }
    std::size_t blob_bytes(uint32_t worker) const {
        return each(worker, [](uint32_t, std::size_t, std::size_t) {});
    }
    /// Whether a worker's data is small enough.
    bool small(uint32_t worker) const {
        const Workers &workers = asked_.workers;
        const std::size_t most = sizes::parts_along(workers.count(), workers.per_host(),
                                                    pattern_ == Pattern::kFromRoot ? 1 : workers.count(),
                                                    workers.meets_directly(), pattern_ == Pattern::kGather);
        const std::size_t all = blob_bytes(worker);
        return all - table_bytes(asked_, worker) <= most && all <= most_inline(workers, workers.meets_directly());
    }

  private:
    const Collective &asked_;
    const Call &call_;
    const Pattern pattern_;
    const Lengths &lengths_;
};

class Parts {
  public:
    Parts(const Collective &asked, bool early)
        : asked_(asked),
          call_(asked.call()),
          pattern_(call_.kind->pattern()),
          told_(call_.kind->traits().tells_lengths),
          early_(early),
          by_hosts_(asked.workers.self(), asked.workers.count(), asked.workers.per_host()) {
        if (told_) blob_ = table_of(asked);
        if (early && follows_headers())
            list_behind();
        else if (early && told_)
            write_along();
    }

    void run() {
        WorkerOperation operation(asked_.workers, call_, asked_.timeout_ns);
        agree(operation);
        operation.checked([&] {
            learn_lengths();
            carry_out(Plan(call_, *lengths_), operation);
        });
    }

  private:
    uint32_t self() const { return asked_.workers.self(); }

    template <class Use>
    void each_own_move(const Plan &plan, Use use) const {
        asked_.workers.in_order() ? plan.each_move_of(asked_.span(), use) : plan.each_move(use);
    }

    /// Whether what a worker gives follows its header. In an all-to-all, each has something for each in any case.
    bool follows_headers() const {
        const PatternTraits &traits = call_.kind->traits();
        return traits.joins && (traits.cuts || asked_.workers.meets_directly());
    }

    /// Lists what follows this worker's header, unless its table is so long that it must come first.
    void list_behind() {
        if (blob_.size() > most_inline(asked_.workers, true)) return;
        const OwnLengths own(asked_);
        const CallLengths same = asked_.same_lengths();
        const Lengths &lengths = told_ ? static_cast<const Lengths &>(own) : same;
        each_own_move(Plan(call_, lengths), [&](const Move &move) {
            if (!asked_.has(move.from) || move.elements == 0) return;
            const mdist_buffer_t &input = asked_.call_of(move.from).inputs[move.buffer];
            give(move.to, at(input, move.input_begin), move.elements * dtype_size(input.dtype), behind_sends_);
        });
        given_ = true;
    }

    /// Lists what goes to a replica, or to all, as messages to other workers.
    void give(uint32_t to, const void *data, std::size_t bytes, std::vector<Transfer::Outgoing> &sends) const {
        for (uint32_t peer = 0; peer < asked_.workers.count(); ++peer)
            if (peer != self() && (to == Move::kAll || asked_.worker_of(to) == peer))
                sends.push_back({peer, data, bytes});
    }

    /// Writes data behind the table, if it is small. Partials are of use only if all workers' come along.
    void write_along() {
        const OwnLengths own(asked_);
        const DataAlong along(asked_, own);
        const bool sum = pattern_ == Pattern::kReduceScatter;
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker)
            if ((sum || worker == self()) && !along.small(worker)) return;
        if ((sum && !asked_.workers.in_order()) || (pattern_ == Pattern::kFromRoot && !asked_.has(call_.root))) return;
        blob_.resize(along.blob_bytes(self()));
        along.each(self(), [&](uint32_t replica, std::size_t b, std::size_t begin) {
            char *const to = blob_.data() + begin;
            if (along.bytes(replica, b) == 0) return;
            sum ? write_partials(b, to)
                : static_cast<void>(std::memcpy(to, asked_.call_of(replica).inputs[b].data, along.bytes(replica, b)));
        });
        given_ = true;
    }

    void write_partials(std::size_t b, char *to) const {
        // Whose part an element is does not matter here.
        std::vector<uint64_t> parts(asked_.workers.replica_count() + 1);
        parts.back() = call_.inputs[b].elements;
        const ReduceRow row(asked_.calls, b, parts, asked_.workers.cut(), self());
        for (uint32_t i = 0; i < row.partial_count(); ++i, to += row.elements() * row.partial_size())
            row.partial(i, 0, row.elements(), to);
    }

    void agree(WorkerOperation &operation) {
        const auto send = [&] {
            for (const auto &[worker, data, bytes] : behind_sends_)
                operation.link().send(worker, operation.tag(), data, bytes, behind_);
        };
        const FunctionRef<void()> sender(send);
        if (told_)
            blobs_ = agree_with_blobs(operation, asked_.workers, blob_, longest_blob(asked_),
                                      follows_headers() ? &sender : nullptr);
        else if (follows_headers())
            operation.agree_before(sender);
        else
            operation.agree();
    }

    /// Finds out the lengths, checks them, and finds the data in the blobs.
    void learn_lengths() {
        if (!told_) {
            lengths_ = std::make_unique<CallLengths>(asked_.same_lengths());
            return;
        }
        Blobs tables;
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker)
            tables.push_back(blobs_[worker].substr(0, table_bytes(asked_, worker)));
        lengths_ = std::make_unique<ToldLengths>(checked_lengths(asked_, tables));
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker) find_data(worker);
    }

    void find_data(uint32_t worker) {
        const DataAlong along(asked_, *lengths_);
        const bool sum = pattern_ == Pattern::kReduceScatter; // all give along, or nobody
        const bool may = early_ && !follows_headers() && (sum ? given_ : along.small(worker)), must = sum && given_;
        const std::size_t come = blobs_[worker].size(), table = table_bytes(asked_, worker);
        const std::size_t due = may ? along.blob_bytes(worker) : table;
        if (come != due && (must || come != table))
            throw bad_message(asked_.workers.rank(worker), text(come, " bytes with an operation instead of ", due));
        if (come == table) return;
        data_.resize(asked_.workers.replica_count() * call_.buffer_count);
        along.each(worker, [&](uint32_t replica, std::size_t b, std::size_t begin) {
            data_[replica * call_.buffer_count + b] = blobs_[worker].data() + begin;
        });
    }
    /// What came along of a replica's data; nullptr if nothing did.
    const char *data(uint32_t replica, std::size_t b) const {
        return data_.empty() ? nullptr : data_[replica * call_.buffer_count + b];
    }

    void carry_out(const Plan &plan, WorkerOperation &operation) {
        if (pattern_ == Pattern::kReduceScatter && !data_.empty()) return combine(plan);
        each_own_move(plan, [&](const Move &move) { move.sums() ? add_sum(move) : add_copy(move); });
        Transfer::Passed passed = by_hosts_.finish(sends_, receives_);
        if (!sends_.empty() || !receives_.empty() || !passed.receives.empty() || !behind_.done())
            operation.run<Transfer>(operation.tag(), sends_, receives_, &behind_, std::move(passed));
        for (const Move &move : scattered_) sum_scattered(asked_, move, operation);
        if (to_all_) spread(asked_);
        if (!sums_) return;
        sum_rows(asked_, pattern_ == Pattern::kReduce ? rows_of(asked_) : rows_of_parts(asked_, *lengths_), operation);
    }

    void add_sum(const Move &move) {
        if (asked_.workers.in_order()) return static_cast<void>(sums_ = true);
        to_all_ = to_all_ || move.to == Move::kAll;
        scattered_.push_back(move);
    }

    void add_copy(const Move &move) {
        const bool to_all = move.to == Move::kAll, takes = to_all || asked_.has(move.to), gives = asked_.has(move.from);
        const std::size_t b = move.buffer, size = dtype_size(call_.inputs[b].dtype), bytes = move.elements * size;
        to_all_ = to_all_ || to_all;
        if (bytes == 0 || (!gives && !takes)) return;
        const char *from = data(move.from, b);
        if (gives)
            from = at(asked_.call_of(move.from).inputs[b], move.input_begin);
        else if (from != nullptr)
            from += move.input_begin * size;
        char *to = takes ? at((to_all ? call_ : asked_.call_of(move.to)).outputs[b], move.output_begin) : nullptr;
        const bool by_hosts = to_all && !asked_.workers.meets_directly();
        if (takes && from == nullptr)
            by_hosts ? by_hosts_.receive(asked_.worker_of(move.from), to, bytes)
                     : receives_.push_back({asked_.worker_of(move.from), to, bytes});
        if (takes && from != nullptr && from != to) std::memcpy(to, from, bytes);
        if (gives && !given_) by_hosts ? by_hosts_.give(from, bytes) : give(move.to, from, bytes, sends_);
    }

    /// Makes this worker's parts of the sums from all workers' partials.
    void combine(const Plan &plan) const {
        const reduce::Cut &cut = asked_.workers.cut();
        std::vector<const void *> partials(cut.subtrees().size());
        plan.each_move_to(asked_.span(), [&](const Move &move) {
            if (move.elements == 0) return;
            const mdist_buffer_t &input = call_.inputs[move.buffer];
            const std::size_t size = reduce::partial_size(input.dtype, cut);
            for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker) {
                const char *const first = data(asked_.workers.spans()[worker].first, move.buffer);
                for (uint32_t i = 0; i < cut.count(worker); ++i)
                    partials[cut.first(worker) + i] = first + (i * input.elements + move.input_begin) * size;
            }
            void *const to = at(asked_.call_of(move.to).outputs[move.buffer], move.output_begin);
            reduce::combine_partials(operation_of(call_, input.dtype, cut.replicas()), cut, partials.data(), &to, 1,
                                     move.elements);
        });
    }

    const Collective &asked_;
    const Call &call_;
    const Pattern pattern_;
    const bool told_; // the workers tell each other the lengths of their pieces
    const bool early_;
    bool given_ = false; // this worker's data follows its header, or goes along with it
    std::string blob_;   // this worker's table, and what goes along
    std::vector<Transfer::Outgoing> behind_sends_;
    Pending behind_;
    Blobs blobs_;
    std::unique_ptr<Lengths> lengths_;
    std::vector<const char *> data_; // by replica, then by buffer: in the blobs; empty if nothing came along
    bool to_all_ = false;
    bool sums_ = false;
    std::vector<Transfer::Outgoing> sends_;
    std::vector<Transfer::Incoming> receives_;
    HostGather by_hosts_;
    std::vector<Move> scattered_; // sums, in a group whose spans are not of positions
};

} // namespace

void perform_parts(const Collective &asked) {
    Parts(asked, true).run();
}

void perform_plan(const Collective &asked) {
    Parts(asked, false).run();
}

} // namespace mdist::workers

namespace mdist {

ToldLengths Workers::tell_lengths(const Call *const *calls, uint64_t timeout_ns) {
    return guarded([&] {
        const workers::Collective asked = {*this, calls, timeout_ns};
        const std::string table = workers::table_of(asked);
        WorkerOperation operation(*this, asked.call(), timeout_ns);
        const Blobs tables = workers::agree_with_blobs(operation, *this, table, workers::longest_blob(asked));
        return operation.checked([&] { return workers::checked_lengths(asked, tables); });
    });
}

} // namespace mdist
