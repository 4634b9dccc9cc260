// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/scattered_sum.h"

#include "comm/call/buffers.h"
#include "comm/schedules/transfer.h"
#include "reduce/reduce.h"

#include <algorithm>

namespace mdist::workers {
namespace {

class ScatteredSum {
  public:
    ScatteredSum(const Collective &asked, const Move &move, WorkerOperation &operation)
        : asked_(asked),
          move_(move),
          operation_(operation),
          workers_(asked.workers.count()),
          self_(asked.workers.self()),
          size_(dtype_size(asked.call().inputs[move.buffer].dtype)) {}

    /// Sums elements begin to end - 1 of the move.
    void run(uint64_t begin, uint64_t end) {
        begin_ = begin;
        end_ = end;
        std::vector<Transfer::Outgoing> sends;
        std::vector<Transfer::Incoming> receives;
        const std::vector<const void *> sources = exchange_inputs(sends, receives);
        operation_.run<Transfer>(operation_.tag(), sends, receives);
        const Share own = share(self_);
        if (own.count != 0) {
            const Call &call = asked_.call();
            const auto replicas = static_cast<uint32_t>(sources.size());
            void *to = output(own.begin);
            reduce::reduce(operation_of(call, call.inputs[move_.buffer].dtype, replicas), sources.data(), replicas, &to,
                           1, own.count);
        }
        if (move_.to == Move::kAll) exchange_results();
    }

  private:
    struct Share {
        uint64_t begin;
        uint64_t count;
    };

    /// What a worker sums.
    Share share(uint32_t worker) const {
        const uint64_t count = end_ - begin_;
        if (move_.to != Move::kAll) return {begin_, worker == asked_.worker_of(move_.to) ? count : 0};
        const uint64_t begin = begin_ + count / workers_ * worker + std::min<uint64_t>(worker, count % workers_);
        return {begin, count / workers_ + (worker < count % workers_ ? 1 : 0)};
    }

    const void *input(uint32_t replica, uint64_t element) const {
        return at(asked_.call_of(replica).inputs[move_.buffer], move_.input_begin + element);
    }
    void *output(uint64_t element) const {
        const Call &taker = move_.to == Move::kAll ? asked_.call() : asked_.call_of(move_.to);
        return at(taker.outputs[move_.buffer], move_.output_begin + element);
    }

    /// Lists what goes where before the sum. Returns where each replica's input of this worker's own share will be.
    std::vector<const void *> exchange_inputs(std::vector<Transfer::Outgoing> &sends,
                                              std::vector<Transfer::Incoming> &receives) {
        const uint32_t replicas = asked_.workers.replica_count();
        const Share own = share(self_);
        room_.resize(replicas * own.count * size_);
        std::vector<const void *> sources(replicas);
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            if (asked_.has(replica)) {
                sources[replica] = input(replica, own.begin);
                for (uint32_t worker = 0; worker < workers_; ++worker)
                    if (const Share theirs = share(worker); worker != self_ && theirs.count != 0)
                        sends.push_back({worker, input(replica, theirs.begin), theirs.count * size_});
            } else if (own.count != 0) {
                char *const to = room_.data() + replica * own.count * size_;
                sources[replica] = to;
                receives.push_back({asked_.worker_of(replica), to, own.count * size_});
            }
        }
        return sources;
    }

    void exchange_results() {
        std::vector<Transfer::Outgoing> sends;
        std::vector<Transfer::Incoming> receives;
        const Share own = share(self_);
        for (uint32_t worker = 0; worker < workers_; ++worker) {
            if (worker == self_) continue;
            const Share theirs = share(worker);
            if (own.count != 0) sends.push_back({worker, output(own.begin), own.count * size_});
            if (theirs.count != 0) receives.push_back({worker, output(theirs.begin), theirs.count * size_});
        }
        operation_.run<Transfer>(operation_.tag(), sends, receives);
    }

    const Collective &asked_;
    const Move &move_;
    WorkerOperation &operation_;
    const uint32_t workers_;
    const uint32_t self_;
    const std::size_t size_;
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    std::vector<char> room_; // inputs of other workers' replicas
};

} // namespace

void sum_scattered(const Collective &asked, const Move &move, WorkerOperation &operation) {
    constexpr uint64_t kMost = 1 << 20; // elements at once, so that the room for inputs stays small
    ScatteredSum sum(asked, move, operation);
    for (uint64_t begin = 0; begin < move.elements; begin += kMost)
        sum.run(begin, std::min(begin + kMost, move.elements));
}

} // namespace mdist::workers
