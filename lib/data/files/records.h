// SPDX-License-Identifier: Apache-2.0
// Records: splits the bytes of a file into records, as its format says. For one thread at a time.
#pragma once

#include "data/files/input.h"
#include "data/sources.h"

#include <memory>
#include <string>

namespace mdist {

class Records {
  public:
    virtual ~Records() = default;
    /// Reads the next record. If `room`, which may be null, offers memory for it, that gets the bytes and `record` becomes
    /// undefined. Otherwise `record` becomes uint8 [length]. Returns false at the end. Throws DATA_LOSS for a corrupt
    /// record. If the place after that record is known, the next call continues there; otherwise it returns false. So a
    /// loop of calls always ends.
    virtual bool next(Tensor &record, Room *room) = 0;
};

/// Makes the records of `bytes`, which are compressed as `format` says. `path` is for messages.
std::unique_ptr<Records> make_file_records(const RecordFormat &format, std::unique_ptr<Bytes> bytes,
                                           const std::string &path);

std::unique_ptr<Records> make_lines(Input input, uint64_t max_record_bytes);
std::unique_ptr<Records> make_fixed_records(Input input, const RecordFormat &format);
std::unique_ptr<Records> make_tfrecords(Input input, uint64_t max_record_bytes);

} // namespace mdist
