// SPDX-License-Identifier: Apache-2.0
// Sources: the datasets at the start of a chain of transforms. Each function checks its arguments (INVALID_ARGUMENT)
// and may be called from any thread.
#pragma once

#include "data/dataset.h"

#include <mdist/dataset_sources.h>

#include <string>
#include <vector>

namespace mdist {

/// Makes a dataset whose element i is row i of each of `count` arrays. The arrays are used in place, not copied.
/// `owner`, which may be null, is released with the last reference to any of their rows.
std::shared_ptr<Dataset> make_from_tensors(const mdist_tensor_t *arrays, std::size_t count, const Memory &owner);

std::shared_ptr<Dataset> make_range(int64_t start, int64_t stop, int64_t step);

struct Generator {
    mdist_generate_fn generate;
    void *user_data;
    mdist_free_fn free_state; // may be null
    bool any_thread;
};
/// `user_data` stays valid as long as `owner` is held. If `owner` is null, it must stay valid as long as the datasets
/// and iterators live.
std::shared_ptr<Dataset> make_from_generator(const Generator &generator, std::shared_ptr<void> owner,
                                             const mdist_tensor_t *outputs, std::size_t output_count);

/// Makes a dataset of file names: one component, uint8 [length].
std::shared_ptr<Dataset> make_files(const std::vector<std::string> &paths);
/// Returns all files that match now, sorted. Throws NOT_FOUND, IO.
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
    uint64_t parallel_files = 0; // number of threads that read ahead; 0: the thread that asks reads
};
/// Makes a dataset of the records of all `files`, uint8 [length]. `cycle_length` files are open at a time. They take
/// turns, and a turn is `block_length` records.
std::shared_ptr<Dataset> make_records(std::shared_ptr<const Dataset> files, const Reading &reading);

} // namespace mdist
