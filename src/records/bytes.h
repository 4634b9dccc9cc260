// SPDX-License-Identifier: Apache-2.0
// Files through the library's own sources: what is between a header and the end, in records. By one thread at a time.
#pragma once

#include "handles.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mdist {

/// As the first two bytes say.
mdist_compression_t compression_of(const std::string &path);

class FileRecords {
  public:
    /// Of `record_bytes` each, or TFRecords where that is 0. Throws std::runtime_error, and so does next().
    FileRecords(const std::string &path, mdist_compression_t compression, uint64_t header_bytes, uint64_t record_bytes);

    /// Whether there was one more; good until the next call.
    bool next(std::string_view &record);

  private:
    IteratorHandle iterator_;
    ValueHandle record_;
};

} // namespace mdist
