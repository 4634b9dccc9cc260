// SPDX-License-Identifier: Apache-2.0
// Auto-sharding: decides which worker reads what, from how the dataset is made. Every worker decides the same.
#pragma once

#include "data/distribute/dealing.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

/// The file names that one reader of the dataset gets, those of all workers together.
struct FileList {
    std::string reader;            // "tfrecords(...)"
    std::optional<uint64_t> files; // if they can be counted without reading or calling anything
};

/// The decision which worker reads what.
struct Sharing {
    std::shared_ptr<const Dataset> dataset; // as this worker reads it
    int32_t policy = MDIST_SHARD_OFF;       // never AUTO
    std::string why;                        // for people; may be empty
    std::vector<FileList> lists = {};       // policy FILE
};

/// Shares `source` out as `policy` says, before batches are cut. Policy DATA leaves the dataset as it is: the workers
/// then share what the cutting yields. Throws NOT_FOUND and FAILED_PRECONDITION as make_plan does. If there may be too
/// few files or elements, and they can't be counted beforehand, iterators of the result throw.
Sharing share(const std::shared_ptr<const Dataset> &source, const InputLayout &layout, int32_t policy);

/// Returns the elements of this worker: every layout.workers()-th. If spans are uneven, element i is for replica
/// i mod layout.total() instead.
std::shared_ptr<const Dataset> shard_of(const std::shared_ptr<const Dataset> &source, const InputLayout &layout);
/// Returns how many of `elements` elements shard_of() gives this worker.
uint64_t shard_size(uint64_t elements, const InputLayout &layout);
/// Returns the least number of elements that gives every worker at least one.
uint64_t least_to_shard(const InputLayout &layout);

/// Says that `reader` reads fewer files than there must be for all workers.
Failure too_few_files(const std::string &reader, uint64_t files, const InputLayout &layout);

/// Returns `at` over what `made` makes of its sources; nullptr if it makes nothing of one. If it leaves all as they
/// are, that is `at` itself.
std::shared_ptr<const Dataset> over_others(
    const std::shared_ptr<const Dataset> &at,
    FunctionRef<std::shared_ptr<const Dataset>(const std::shared_ptr<const Dataset> &)> made);
/// What datasets were rewritten to. One that is used twice stays one.
using Rewritten = std::map<const Dataset *, std::shared_ptr<const Dataset>>;
/// Returns what `replace` makes of `at`, once all below have been rewritten so. Datasets in `done` are not done again.
std::shared_ptr<const Dataset> rewritten(
    const std::shared_ptr<const Dataset> &at, Rewritten &done,
    FunctionRef<std::shared_ptr<const Dataset>(const std::shared_ptr<const Dataset> &)> replace);

/// Gives every reader of `source` only this worker's file names. Shuffles of the names move behind the shard, so that
/// all workers agree who reads what, whatever their seeds. If any branch has no reader, the result's `dataset` is null
/// and `why` gives the reason.
Sharing shard_files(const std::shared_ptr<const Dataset> &source, const InputLayout &layout);

/// Replaces every shard of MDIST_ONE_PER_WORKER with this worker's shard. Returns `source` itself if there is none.
std::shared_ptr<const Dataset> replace_placeholders(const std::shared_ptr<const Dataset> &source,
                                                    const InputLayout &layout);

} // namespace mdist
