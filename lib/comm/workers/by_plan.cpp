// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/by_plan.h"

#include "comm/call/buffers.h"
#include "comm/plan/plan.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/transfer.h"
#include "comm/workers/scattered_sum.h"

#include <cstring>
#include <numeric>

namespace mdist::workers {
namespace {

/// Translates the moves of a plan that concern this worker into the input of its schedules.
class Messages {
  public:
    Messages(const Collective &asked, const Plan &plan) : asked_(asked), span_(asked.span()), first_(asked.call()) {
        const auto add = [&](const Move &move) { move.sums() ? add_sum(move) : add_copy(move); };
        asked.workers.in_order() ? plan.each_move_of(span_, add) : plan.each_move(add);
    }

    void run(WorkerOperation &operation) {
        if (!sends_.empty() || !receives_.empty()) operation.run<Transfer>(operation.tag(), sends_, receives_);
        for (const Move &move : scattered_) sum_scattered(asked_, move, operation);
        if (to_all_) spread(asked_);
        for (const ReduceRow &row : asked_.rows) reduce(operation, row);
        for (std::size_t b = 0; b < pieces_.size(); ++b) {
            std::partial_sum(pieces_[b].begin(), pieces_[b].end(), pieces_[b].begin());
            reduce(operation, ReduceRow(asked_.calls, b, pieces_[b], asked_.workers.cut(), asked_.workers.self()));
        }
    }

  private:
    static void reduce(WorkerOperation &operation, const ReduceRow &row) {
        if (row.elements() != 0) operation.run<AllReduce>(operation.tag(), row, operation.scratch());
    }

    /// A sum for all replicas is one of asked_.rows.
    void add_sum(const Move &move) {
        if (!asked_.workers.in_order()) {
            to_all_ = to_all_ || move.to == Move::kAll;
            return scattered_.push_back(move);
        }
        if (move.to == Move::kAll) return;
        const std::size_t replicas = asked_.workers.replica_count();
        if (pieces_.empty()) pieces_.assign(first_.buffer_count, std::vector<uint64_t>(replicas + 1));
        pieces_[move.buffer][move.to + 1] = move.elements;
    }

    void add_copy(const Move &move) {
        const bool to_all = move.to == Move::kAll;
        const bool gives = asked_.has(move.from);
        const bool takes = to_all || asked_.has(move.to);
        const std::size_t b = move.buffer;
        const std::size_t bytes = move.elements * dtype_size(first_.inputs[b].dtype);
        to_all_ = to_all_ || to_all;
        if (bytes == 0 || (!gives && !takes)) return;
        char *from = gives ? at(asked_.call_of(move.from).inputs[b], move.input_begin) : nullptr;
        char *to = takes ? at((to_all ? first_ : asked_.call_of(move.to)).outputs[b], move.output_begin) : nullptr;
        if (gives && takes && to != from) std::memcpy(to, from, bytes);
        if (!gives) receives_.push_back({asked_.worker_of(move.from), to, bytes});
        if (gives && !takes) sends_.push_back({asked_.worker_of(move.to), from, bytes});
        for (uint32_t peer = 0; gives && to_all && peer < asked_.workers.count(); ++peer)
            if (peer != asked_.workers.self()) sends_.push_back({peer, to, bytes});
    }

    const Collective &asked_;
    const Span span_;
    const Call &first_;
    bool to_all_ = false;
    std::vector<Transfer::Outgoing> sends_;
    std::vector<Transfer::Incoming> receives_;
    std::vector<std::vector<uint64_t>> pieces_; // by buffer: a 0, then each replica's length
    std::vector<Move> scattered_;               // sums, in a group whose spans are not of positions
};

} // namespace

void send_by_plan(const Collective &asked, const Lengths &lengths, WorkerOperation &operation) {
    Messages(asked, Plan(asked.call(), lengths)).run(operation);
}

} // namespace mdist::workers
