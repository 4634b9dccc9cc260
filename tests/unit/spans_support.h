// SPDX-License-Identifier: Apache-2.0
// Layouts of jobs: how many replicas each worker has.
#pragma once

#include "reduce/spans.h"

#include <string>
#include <vector>

#include "reduce_support.h"

namespace mdist {

/// Every way to give so many replicas to workers: 1, 2 ... or all of them in a row to each.
inline std::vector<Spans> all_spans(uint32_t replicas) {
    std::vector<Spans> all;
    for (uint32_t ends = 0; ends < 1U << (replicas - 1); ++ends) { // bit i: a worker ends with replica i
        std::vector<uint32_t> counts(1, 0);
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            ++counts.back();
            if ((ends >> replica & 1) != 0) counts.push_back(0);
        }
        all.emplace_back(counts);
    }
    return all;
}

/// Up to `most` replicas on each worker, on all as many or not.
inline Spans random_spans(Random &random, uint32_t workers, uint32_t most) {
    std::vector<uint32_t> counts(workers, static_cast<uint32_t>(1 + random() % most));
    if (random() % 3 != 0)
        for (uint32_t &count : counts) count = static_cast<uint32_t>(1 + random() % most);
    return Spans(counts);
}

/// "3+3+1"
inline std::string text_of(const Spans &spans) {
    std::string all;
    for (uint32_t worker = 0; worker < spans.workers(); ++worker)
        all += (worker == 0 ? "" : "+") + std::to_string(spans[worker].count());
    return all;
}

} // namespace mdist
