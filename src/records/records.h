// SPDX-License-Identifier: Apache-2.0
// `mdist records`: TFRecord files made from IDX files, in which MNIST and its siblings come, and looked through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct RecordsOptions {
    std::string images, labels; // IDX files, plain or GZIP
    std::string out;            // how the new files' names begin
    uint32_t shards = 1;
    bool gzip = false;
    std::vector<std::string> check; // TFRecord files to look through instead
};

/// Record i is image i and its label, in file i modulo `shards`: files that are read in turns, one record each, give
/// the original order. No file has its name before all are written. Throws std::runtime_error.
int make_records(const RecordsOptions &options);

/// Counts and verifies; 1 if a file is damaged.
int check_records(const RecordsOptions &options);

} // namespace mdist
