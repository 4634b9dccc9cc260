// SPDX-License-Identifier: Apache-2.0
// The inputs and the result of dealing a dataset out: who gets it (InputLayout), how the program wants it dealt
// (Dealing), and what was decided (InputPlan, made by plan.h).
#pragma once

#include "reduce/spans.h"

#include <mdist/input.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Dataset;

/// The workers and replicas that input is dealt out to, and which of the workers this is.
struct InputLayout {
    Spans spans = Spans::even(1, 1);
    uint32_t worker = 0;

    uint32_t workers() const { return spans.workers(); }
    /// Replicas of the job.
    uint32_t total() const { return spans.replicas(); }
    const Span &own() const { return spans[worker]; }
    /// "2 workers of 3 replicas", or "3 workers of 3+3+1 replicas"
    std::string text() const;
};

/// What the program and the configuration ask for.
struct Dealing {
    int32_t policy = MDIST_SHARD_AUTO;     // mdist_shard_policy_t
    int32_t uneven = MDIST_UNEVEN_DEFAULT; // mdist_uneven_t
    /// The proportions of rows for the replicas of the job, by id; empty: all alike. In a batch of n rows, a replica of
    /// weight w gets floor(n w / sum of weights) rows. The rows that are left go one each to the largest remainders;
    /// of equal remainders the first comes first. Under policies other than DATA, workers do not share batches, so n
    /// is the batch size and must be known.
    std::vector<double> weights = {};
    bool by_replica = false; // data.order: replica; matters under policy DATA; uneven spans always use this order
    bool split = true;       // false: whole elements to each replica in turn (MDIST_INPUT_NO_SPLIT)

    /// Tells whether slice i is for replica i. TensorFlow's order deals the slices to the workers in turn instead. It
    /// needs the same number of replicas on every worker.
    bool goes_by_replica(const InputLayout &layout) const { return by_replica || !layout.spans.are_even(); }
};

struct InputPlan {
    /// This worker's sub-batches: one for each of its replicas in the first step, then those of the next step.
    std::shared_ptr<const Dataset> parts;
    int32_t policy = MDIST_SHARD_DATA; // the policy that was applied: never AUTO
    /// Whether every worker sees the whole source, so that it knows without asking when each step and the end comes.
    bool common_knowledge = true;
    /// Whether it certainly never ends, on any worker.
    bool endless = false;
    std::optional<uint64_t> global_batch; // if known in advance
    std::string source;                   // Dataset::description of what is dealt out
    std::string place;                    // Dataset::layout of its positions
    std::string alike;                    // lines that must be the same on all workers
    std::string text;                     // what mdist_dataset_explain says: lines
};

} // namespace mdist
