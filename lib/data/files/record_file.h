// SPDX-License-Identifier: Apache-2.0
// RecordFile: a file of records being read, by the rule for what is corrupt. By one thread at a time.
#pragma once

#include "data/files/records.h"

#include <memory>
#include <string>

namespace mdist {

class RecordFile {
  public:
    virtual ~RecordFile() = default;
    /// Whether there was one more. `left_out` grows by the corrupt ones that were left out before it, or before the
    /// end.
    virtual bool next(Tensor &record, uint64_t &left_out) = 0;
};

/// Throws as open_file does.
std::unique_ptr<RecordFile> open_record_file(const std::string &path, const Reading &reading);

} // namespace mdist
