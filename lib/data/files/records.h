// SPDX-License-Identifier: Apache-2.0
// Records: what a file's format makes of its bytes. By one thread at a time.
#pragma once

#include "data/files/input.h"
#include "data/sources.h"

#include <memory>
#include <string>

namespace mdist {

class Records {
  public:
    virtual ~Records() = default;
    /// Whether there was one more; `record` becomes uint8 [length]. Throws DATA_LOSS for what is none; the next call
    /// goes on behind it where it is known where that is, and else finds no more. So calls come to an end in any case.
    virtual bool next(Tensor &record) = 0;
};

/// Those of `bytes`, which are packed as `format` says; `path` is for messages.
std::unique_ptr<Records> make_file_records(const RecordFormat &format, std::unique_ptr<Bytes> bytes,
                                           const std::string &path);

std::unique_ptr<Records> make_lines(Input input, uint64_t max_record_bytes);
std::unique_ptr<Records> make_fixed_records(Input input, const RecordFormat &format);
std::unique_ptr<Records> make_tfrecords(Input input, uint64_t max_record_bytes);

} // namespace mdist
