// SPDX-License-Identifier: Apache-2.0
// RecordFile: reads a file of records, and applies the rule for corrupt ones. For one thread at a time.
#pragma once

#include "data/files/records.h"

#include <memory>
#include <string>

namespace mdist {

class RecordFile {
  public:
    virtual ~RecordFile() = default;
    /// Reads the next record, as Records::next does. Adds to `left_out` the number of corrupt records that were left out
    /// before this record, or before the end.
    virtual bool next(Tensor &record, Room *room, uint64_t &left_out) = 0;
};

/// Throws as open_file does.
std::unique_ptr<RecordFile> open_record_file(const std::string &path, const Reading &reading);

} // namespace mdist
