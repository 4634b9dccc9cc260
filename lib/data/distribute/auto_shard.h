// SPDX-License-Identifier: Apache-2.0
// Auto-sharding: which worker reads what, decided from how a dataset is made. The same decision on every worker.
#pragma once

#include "data/distribute/plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

/// Names of files, of all workers together, that one reader gets.
struct FileList {
    std::string reader;            // "tfrecords(...)"
    std::optional<uint64_t> files; // where they can be counted without reading or calling anything
};

/// Who reads what.
struct Sharing {
    std::shared_ptr<const Dataset> dataset; // as this worker reads it
    int32_t policy = MDIST_SHARD_OFF;       // never AUTO
    std::string why;                        // for people; may be empty
    std::vector<FileList> lists = {};       // policy FILE
};

/// By `policy`, before anything is cut. Policy DATA leaves the dataset as it is: it is what comes of cutting that is
/// shared then. Throws NOT_FOUND and FAILED_PRECONDITION as make_plan does.
Sharing share(const std::shared_ptr<const Dataset> &source, const InputLayout &layout, int32_t policy);

/// Every reader of `source` gets each layout.workers-th name; shuffles of names move behind that, so that all workers
/// agree who reads what, with whatever seeds. `dataset` is null, and `why` says it, where there is something between
/// the readers and the end that TensorFlow doesn't look through, or any branch without a reader.
Sharing shard_files(const std::shared_ptr<const Dataset> &source, const InputLayout &layout);

/// Every shard of MDIST_SHARD_HINT becomes a shard of the workers; `source` itself if there is none.
std::shared_ptr<const Dataset> replace_hints(const std::shared_ptr<const Dataset> &source, const InputLayout &layout);

} // namespace mdist
