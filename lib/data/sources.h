// SPDX-License-Identifier: Apache-2.0
// Where elements come from. Each function checks its arguments (INVALID_ARGUMENT) and may be called from any thread.
#pragma once

#include "data/dataset.h"

#include <mdist/dataset_sources.h>

#include <string>
#include <vector>

namespace mdist {

/// Row i of each of `count` arrays is element i. The arrays are kept, not copied; `owner` is let go of with the last
/// reference to any of their rows, or null.
std::shared_ptr<Dataset> make_from_tensors(const mdist_tensor_t *arrays, std::size_t count, const Memory &owner);

std::shared_ptr<Dataset> make_range(int64_t start, int64_t stop, int64_t step);

struct Generator {
    mdist_generate_fn generate;
    void *user_data;
    mdist_free_fn free_state; // may be null
    bool any_thread;
};
/// What the generator gets stays valid as long as `owner` is held; null: as long as datasets and iterators live.
std::shared_ptr<Dataset> make_from_generator(const Generator &generator, std::shared_ptr<void> owner,
                                             const mdist_tensor_t *outputs, std::size_t output_count);

/// Names of files: one component, uint8 [length].
std::shared_ptr<Dataset> make_files(const std::vector<std::string> &paths);
/// All that there are now, sorted. Throws NOT_FOUND, IO.
std::vector<std::string> match_files(const std::vector<std::string> &patterns);

struct RecordFormat {
    enum class Kind { kLines, kFixed, kTFRecord };
    Kind kind;
    uint64_t record_bytes = 0, header_bytes = 0, footer_bytes = 0; // of kFixed
    uint64_t max_record_bytes = 0;
    int32_t compression = MDIST_COMPRESSION_NONE;
};
/// How many files are read at a time, and how.
struct Reading {
    RecordFormat format;
    bool skip_corrupt = false;
    uint64_t cycle_length = 1;
    uint64_t block_length = 1;
    uint64_t parallel_files = 0; // read ahead on as many threads; 0: on the one that asks
};
/// The records of all of `files`, uint8 [length]: `cycle_length` files take turns of `block_length` records.
std::shared_ptr<Dataset> make_records(std::shared_ptr<const Dataset> files, const Reading &reading);

} // namespace mdist
