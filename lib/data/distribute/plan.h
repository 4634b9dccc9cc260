// SPDX-License-Identifier: Apache-2.0
// How a dataset is dealt out to the workers of a job and their replicas: decided once, the same way on every worker.
//
// TensorFlow's decisions (auto-shard and rebatch), as a rewriting of the description: what comes out is this worker's
// sub-batches, replica after replica, step after step, ready for make_dealt (deal.h).
#pragma once

#include "data/dataset.h"

#include <mdist/input.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

/// Whom input is dealt out to, and who asks.
struct InputLayout {
    uint64_t workers = 1;
    uint64_t worker = 0;
    uint64_t replicas = 1; // of each worker

    uint64_t total() const { return workers * replicas; }
};

/// What the program and the configuration say.
struct Dealing {
    int32_t policy = MDIST_SHARD_AUTO;     // mdist_shard_policy_t
    int32_t uneven = MDIST_UNEVEN_DEFAULT; // mdist_uneven_t
    /// Rows of each replica of the job, by id, in proportion; none: alike. Of each batch of n rows, replica i of weight
    /// w gets floor(n w / sum of weights); rows that are left go to the largest remainders, one each, of equal ones to
    /// the first. Under policies other than DATA, where no batch is seen by all, n is the batch size and must be known.
    std::vector<double> weights = {};
    bool by_replica = false; // data.order: replica; matters to policy DATA
    bool split = true;       // false: whole elements to each replica in turn (MDIST_INPUT_NO_SPLIT)
};

struct Plan {
    /// This worker's sub-batches: the first `replicas` are its first step's, and so on.
    std::shared_ptr<const Dataset> parts;
    int32_t policy = MDIST_SHARD_DATA; // what was done: never AUTO
    /// Whether every worker sees the whole source, and so knows without a word when each step and the end comes.
    bool common_knowledge = true;
    /// Whether it certainly never ends, on any worker.
    bool endless = false;
    std::optional<uint64_t> global_batch; // where known beforehand
    std::string source;                   // Dataset::description of what is dealt out
    std::string place;                    // what positions depend on, as in Dataset::layout
    std::string alike;                    // lines that must be the same on all workers
    std::string text;                     // what mdist_dataset_explain says: lines
};

/// Throws INVALID_ARGUMENT for a source that can't be split (no batch, scalars), NOT_FOUND for policy FILE without
/// files, and FAILED_PRECONDITION, reason "too_few_files" or, where whole elements are shared out, "too_few_elements":
/// the same on every worker.
Plan make_plan(std::shared_ptr<const Dataset> source, const InputLayout &layout, const Dealing &dealing);

} // namespace mdist
