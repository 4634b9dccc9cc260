// SPDX-License-Identifier: Apache-2.0
// Reads files through the library's own dataset sources: the bytes after a header, record by record. One thread at a
// time.
#pragma once

#include "handles.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mdist {

/// The compression that the file's first two bytes indicate.
mdist_compression_t compression_of(const std::string &path);

class FileRecords {
  public:
    /// Reads records of `record_bytes` each, or TFRecords if that is 0. Throws std::runtime_error, and so does next().
    FileRecords(const std::string &path, mdist_compression_t compression, uint64_t header_bytes, uint64_t record_bytes);

    /// Returns false at the end. `record` is valid until the next call.
    bool next(std::string_view &record);

  private:
    IteratorHandle iterator_;
    ValueHandle record_;
};

} // namespace mdist
