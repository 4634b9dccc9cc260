// SPDX-License-Identifier: Apache-2.0
#include "comm/plan/plan.h"

namespace mdist {

void Plan::visit_moves(const Span &replicas, bool givers, Visit visit) const {
    for (std::size_t b = 0; b < buffers_; ++b) visit_moves_of(b, replicas, givers, visit);
}

/// Adds lengths up again for each move, since nothing may be allocated here: a few numbers, unless all moves of a large
/// job are asked for.
void Plan::visit_parts_of(std::size_t b, const Span &replicas, bool givers, Visit visit) const {
    for (uint32_t from = 0; from < lengths_.replicas(); ++from) {
        const Span takers = givers && replicas.has(from) ? all() : replicas;
        uint64_t input_begin = 0;
        for (uint32_t to = 0; to < takers.first; ++to) input_begin += lengths_.given(from, to, b);
        for (uint32_t to = takers.first; to < takers.last; ++to) {
            const uint64_t elements = lengths_.given(from, to, b);
            uint64_t output_begin = 0;
            for (uint32_t before = 0; before < from; ++before) output_begin += lengths_.taken(to, before, b);
            visit({from, to, b, input_begin, output_begin, elements});
            input_begin += elements;
        }
    }
}

void Plan::visit_moves_of(std::size_t b, const Span &replicas, bool givers, Visit visit) const {
    constexpr uint32_t kAll = Move::kAll;
    const uint32_t count = lengths_.replicas();
    const uint64_t length = lengths_.piece(0, b); // every replica's, unless pieces may differ
    const auto concerns = [&](uint32_t from, uint32_t to) {
        return to == kAll || replicas.has(to) || (givers && (from == kAll || replicas.has(from)));
    };
    /// Calls make(replica, the elements before its piece, the elements of its piece) for each replica.
    const auto each_piece = [&](auto make) {
        uint64_t offset = 0;
        for (uint32_t replica = 0; replica < count; ++replica) {
            const uint64_t elements = lengths_.piece(replica, b);
            const Move move = make(replica, offset, elements);
            if (concerns(move.from, move.to)) visit(move);
            offset += elements;
        }
    };
    switch (pattern_) {
        case Pattern::kReduce:
            return visit({kAll, kAll, b, 0, 0, length});
        case Pattern::kReduceToRoot:
            return concerns(kAll, root_) ? visit({kAll, root_, b, 0, 0, length}) : void();
        case Pattern::kReduceScatter:
            return each_piece([&](uint32_t i, uint64_t begin, uint64_t elements) {
                return Move{kAll, i, b, begin, 0, elements};
            });
        case Pattern::kBroadcast:
        case Pattern::kFirst:
            return visit({root_, kAll, b, 0, 0, length});
        case Pattern::kGather:
            return each_piece([&](uint32_t i, uint64_t begin, uint64_t elements) {
                return Move{i, kAll, b, 0, begin, elements};
            });
        case Pattern::kToRoot:
            return each_piece([&](uint32_t i, uint64_t begin, uint64_t elements) {
                return Move{i, root_, b, 0, begin, elements};
            });
        case Pattern::kFromRoot:
            return each_piece([&](uint32_t i, uint64_t begin, uint64_t elements) {
                return Move{root_, i, b, begin, 0, elements};
            });
        case Pattern::kTranspose: {
            const uint64_t piece = length / count;
            for (uint32_t from = 0; from < count; ++from) {
                const Span takers = givers && replicas.has(from) ? all() : replicas;
                for (uint32_t to = takers.first; to < takers.last; ++to)
                    visit({from, to, b, to * piece, from * piece, piece});
            }
            return;
        }
        case Pattern::kTransposeParts:
            return visit_parts_of(b, replicas, givers, visit);
        case Pattern::kMeet:
        case Pattern::kLaunch:
            return;
    }
}

} // namespace mdist
