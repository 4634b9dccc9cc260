// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/small_parts.h"

#include "comm/call/bad_message.h"
#include "comm/call/buffers.h"
#include "comm/plan/plan.h"
#include "comm/schedules/relayed_exchange.h"
#include "comm/workers/by_plan.h"
#include "comm/workers/halved_sum.h"
#include "comm/workers/known_lengths.h"
#include "comm/workers/told_operation.h"
#include "util/round_up.h"
#include "util/text.h"

#include <cstring>
#include <memory>

namespace mdist::workers {
namespace {

bool sums(Pattern pattern) {
    return pattern == Pattern::kReduceScatter || pattern == Pattern::kReduceToRoot;
}

/// Whether what a worker gives depends on lengths that only it knows beforehand.
bool has_own_lengths(Pattern pattern) {
    return gathers(pattern) || pattern == Pattern::kFromRoot;
}

/// The bytes of the table in which a worker tells its lengths.
std::size_t table_bytes(const Collective &asked, uint32_t worker) {
    const Call &call = asked.call();
    if (!has_parts(call.kind->pattern())) return 0;
    return asked.workers.spans()[worker].count() * call.buffer_count * ToldLengths::width(call) * sizeof(uint64_t);
}

/// What each worker gives, as all know it after the exchange: behind its table, data for each of its replicas and
/// buffers. The data of a replica is its input. In a sum, it is the worker's partials, and only the first replica has
/// any.
class Parcels {
  public:
    /// Refers to both arguments. Of workers whose lengths are not known, only table_bytes() may be asked for.
    Parcels(const Collective &asked, const Lengths &lengths)
        : asked_(asked), call_(asked.call()), pattern_(call_.kind->pattern()), lengths_(lengths) {}

    std::size_t bytes(uint32_t replica, std::size_t b) const {
        const mdist_buffer_t &buffer = call_.inputs[b];
        const std::size_t size = dtype_size(buffer.dtype);
        if (sums(pattern_)) {
            const uint32_t worker = asked_.worker_of(replica);
            const reduce::Cut &cut = asked_.workers.cut();
            const bool first = asked_.workers.spans()[worker].first == replica;
            return first ? buffer.elements * reduce::partial_size(buffer.dtype, cut) * cut.count(worker) : 0;
        }
        if (pattern_ != Pattern::kFromRoot) return lengths_.piece(replica, b) * size;
        return replica == call_.root ? lengths_.joined(replica, b) * size : 0;
    }

    /// Calls use(replica, buffer, first byte in the payload) for all data of a worker. Returns where the last one ends.
    template <class Use>
    std::size_t each(uint32_t worker, Use use) const {
        const Span span = asked_.workers.spans()[worker];
        std::size_t begin = table_bytes(asked_, worker);
        for (uint32_t replica = span.first; replica < span.last; ++replica) {
            for (std::size_t b = 0; b < call_.buffer_count; ++b) {
                use(replica, b, begin);
                begin += round_up(bytes(replica, b), RelayedExchange::kAlignment);
            }
        }
        return begin;
    }
    std::size_t all_bytes(uint32_t worker) const {
        return each(worker, [](uint32_t, std::size_t, std::size_t) {});
    }
    /// The most bytes of all workers together for which this way is worth it. Measured with 4 to 8 workers over TCP on
    /// one host (docs/performance/sockets.md, "Halving and larger relays"). In a gather to all, every byte is of use to
    /// everybody. Four workers save one message of three only, and each worker more another one.
    std::size_t most() const {
        constexpr std::size_t kMostForSome = 36864, kMostOfFour = 73728, kMostForAll = 294912;
        if (pattern_ != Pattern::kGather) return kMostForSome;
        return std::min((asked_.workers.count() - 3) * kMostOfFour, kMostForAll);
    }
    /// Whether a worker's data goes along with its table: twice its share.
    bool along(uint32_t worker) const {
        const uint32_t workers = asked_.workers.count();
        return all_bytes(worker) <= std::min(2 * most() / workers, RelayedExchange::most(workers));
    }
    bool all_along() const {
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker)
            if (!along(worker)) return false;
        return true;
    }
    std::size_t payload_bytes(uint32_t worker) const {
        return along(worker) ? all_bytes(worker) : table_bytes(asked_, worker);
    }

    /// Whether this way is worth it.
    bool small() const {
        std::size_t total = 0;
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker) {
            if (!along(worker)) return false; // the usual case of large calls: at the first worker
            total += all_bytes(worker);
        }
        return total <= most();
    }

  private:
    const Collective &asked_;
    const Call &call_;
    const Pattern pattern_;
    const Lengths &lengths_;
};

class SmallParts {
  public:
    explicit SmallParts(const Collective &asked) : asked_(asked), call_(asked.call()), pattern_(call_.kind->pattern()) {
        const std::vector<uint64_t> others_lengths;
        const KnownLengths own(asked, others_lengths);
        write(Parcels(asked, own));
    }

    void run() {
        WorkerOperation operation(asked_.workers, call_, {payload_.data(), payload_.size()}, asked_.timeout_ns);
        std::unique_ptr<Lengths> lengths;
        try {
            lengths = learn_lengths(operation);
            remember_whether_small(asked_, *lengths);
            find_data(operation, Parcels(asked_, *lengths));
        } catch (const Failure &failure) {
            operation.fail(failure);
        }
        if (data_.empty()) return send_by_plan(asked_, *lengths, operation);
        Plan(call_, *lengths).each_move_to(asked_.span(), [&](const Move &move) {
            if (move.elements != 0) move.sums() ? sum(move) : copy(move);
        });
        if (pattern_ == Pattern::kGather) spread(asked_);
    }

  private:
    void write(const Parcels &parcels) {
        const uint32_t self = asked_.workers.self();
        payload_.resize(parcels.payload_bytes(self));
        const std::vector<uint64_t> table = ToldLengths::table_of(asked_.calls, asked_.span().count());
        const std::size_t told = has_parts(pattern_) ? table_bytes(asked_, self) : 0;
        if (told != 0) std::memcpy(payload_.data(), table.data(), told);
        if (!parcels.along(self)) return;
        parcels.each(self, [&](uint32_t replica, std::size_t b, std::size_t begin) {
            const std::size_t bytes = parcels.bytes(replica, b);
            char *const to = payload_.data() + begin;
            if (bytes == 0) return;
            if (sums(pattern_)) return write_partials(b, to);
            std::memcpy(to, asked_.call_of(replica).inputs[b].data, bytes);
        });
    }

    void write_partials(std::size_t b, char *to) const {
        // Whose part an element is does not matter here.
        std::vector<uint64_t> parts(asked_.workers.replica_count() + 1);
        parts.back() = call_.inputs[b].elements;
        const ReduceRow row(asked_.calls, b, parts, asked_.workers.cut(), asked_.workers.self());
        for (uint32_t i = 0; i < row.partial_count(); ++i, to += row.elements() * row.partial_size())
            row.partial(i, 0, row.elements(), to);
    }

    std::unique_ptr<Lengths> learn_lengths(const WorkerOperation &operation) const {
        if (!has_parts(pattern_))
            return std::make_unique<CallLengths>(Calls(asked_.calls, 0, asked_.workers.replica_count()));
        Blobs tables;
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker) {
            const char *const from = operation.payload(worker);
            tables.emplace_back(from, from + std::min(operation.payload_bytes(worker), table_bytes(asked_, worker)));
        }
        remember_tables(asked_, tables);
        auto lengths = std::make_unique<ToldLengths>(told_lengths(asked_, tables));
        check_told(*lengths, asked_);
        return lengths;
    }

    /// Finds the data in the payloads, if all of it came along.
    void find_data(const WorkerOperation &operation, const Parcels &parcels) {
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker)
            if (const std::size_t due = parcels.payload_bytes(worker); operation.payload_bytes(worker) != due)
                throw bad_message(asked_.workers.rank(worker),
                                  text(operation.payload_bytes(worker), " bytes with an operation instead of ", due));
        if (!parcels.all_along()) return;
        data_.resize(asked_.workers.replica_count() * call_.buffer_count);
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker)
            parcels.each(worker, [&](uint32_t replica, std::size_t b, std::size_t begin) {
                data_[replica * call_.buffer_count + b] = operation.payload(worker) + begin;
            });
    }
    const char *data(uint32_t replica, std::size_t b) const { return data_[replica * call_.buffer_count + b]; }

    void copy(const Move &move) const {
        const std::size_t size = dtype_size(call_.inputs[move.buffer].dtype);
        const Call &taker = move.to == Move::kAll ? call_ : asked_.call_of(move.to);
        std::memcpy(at(taker.outputs[move.buffer], move.output_begin),
                    data(move.from, move.buffer) + move.input_begin * size, move.elements * size);
    }

    void sum(const Move &move) const {
        const mdist_buffer_t &input = call_.inputs[move.buffer];
        const reduce::Cut &cut = asked_.workers.cut();
        const std::size_t size = reduce::partial_size(input.dtype, cut);
        std::vector<const void *> partials(cut.subtrees().size());
        for (uint32_t worker = 0; worker < asked_.workers.count(); ++worker) {
            const char *const first = data(asked_.workers.spans()[worker].first, move.buffer);
            for (uint32_t i = 0; i < cut.count(worker); ++i)
                partials[cut.first(worker) + i] = first + (i * input.elements + move.input_begin) * size;
        }
        void *const to = at(asked_.call_of(move.to).outputs[move.buffer], move.output_begin);
        reduce::combine_partials(operation_of(call_, input.dtype, cut.replicas()), cut, partials.data(), &to, 1,
                                 move.elements);
    }

    const Collective &asked_;
    const Call &call_;
    const Pattern pattern_;
    std::vector<char> payload_;      // this worker's
    std::vector<const char *> data_; // by replica, then by buffer; empty: not all came along
};

} // namespace

bool may_relay(const Collective &asked) {
    const Pattern pattern = asked.call().kind->pattern();
    if (!asked.workers.relays()) return false;
    if (sums(pattern)) {
        const std::vector<uint64_t> others_lengths; // sums need none
        const KnownLengths own(asked, others_lengths);
        return Parcels(asked, own).small();
    }
    return has_own_lengths(pattern) && asked.workers.calls_with_small_parts().count(fingerprint(asked.call())) != 0;
}

void perform_relaying(const Collective &asked) {
    SmallParts(asked).run();
}

void remember_whether_small(const Collective &asked, const Lengths &lengths) {
    constexpr std::size_t kMost = 256;
    if (!has_own_lengths(asked.call().kind->pattern())) return;
    const uint64_t print = fingerprint(asked.call());
    auto &all = asked.workers.calls_with_small_parts();
    if (!Parcels(asked, lengths).small()) return static_cast<void>(all.erase(print));
    if (all.size() >= kMost) all.clear();
    all.insert(print);
}

} // namespace mdist::workers
