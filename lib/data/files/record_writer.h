// SPDX-License-Identifier: Apache-2.0
// RecordWriter: a TFRecord file that is being written. It has its name only once it is closed, whole; one that is
// destroyed before, or could not be written, leaves nothing behind. Any thread; calls wait for each other.
#pragma once

#include "data/files/sink.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mdist {

class RecordWriter {
  public:
    /// Throws as create_file does.
    RecordWriter(const std::string &path, int32_t compression);

    /// One record. Throws IO, with errno; FAILED_PRECONDITION, reason "closed". A writer that failed fails for ever.
    void write(const void *data, std::size_t bytes);
    /// Writes out what is left and gives the file its name. Again: nothing.
    void close();

  private:
    void guarded(FunctionRef<void()> work);

    std::mutex mutex_;
    std::string path_;
    std::unique_ptr<Sink> sink_; // null when closed, or failed
    std::optional<Failure> failure_;
};

} // namespace mdist
