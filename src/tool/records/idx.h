// SPDX-License-Identifier: Apache-2.0
// IdxFile: the items of an IDX file of unsigned bytes. One thread at a time.
#pragma once

#include "records/bytes.h"

#include <optional>
#include <string>
#include <string_view>

namespace mdist {

class IdxFile {
  public:
    /// Throws std::runtime_error for another kind of file. next() throws it if the file is cut off or damaged.
    explicit IdxFile(const std::string &path);

    const std::string &path() const { return path_; }
    uint64_t count() const { return count_; }
    uint64_t item_bytes() const { return item_bytes_; }
    /// Returns one of the `count` items after the other, valid until the next call.
    std::string_view next();
    /// Throws std::runtime_error if there are bytes left.
    void end();

  private:
    std::string path_;
    uint64_t count_ = 0;
    uint64_t item_bytes_ = 1;
    std::optional<FileRecords> items_;
};

} // namespace mdist
