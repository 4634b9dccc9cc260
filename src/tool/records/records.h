// SPDX-License-Identifier: Apache-2.0
// `mdist records`: makes TFRecord files from IDX files, the format of MNIST and similar datasets, and verifies them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct RecordsOptions {
    std::string images, labels; // IDX files, plain or GZIP
    std::string out;            // prefix of the new files' names
    uint32_t shards = 1;
    bool gzip = false;
    std::vector<std::string> check; // TFRecord files to verify instead
};

/// Writes image i and its label as record i, in file i modulo `shards`. Reading the files in turns, one record each,
/// gives the original order. The files get their names only after all are written. Throws std::runtime_error.
int make_records(const RecordsOptions &options);

/// Counts and verifies records. Returns 1 if a file is damaged.
int check_records(const RecordsOptions &options);

} // namespace mdist
