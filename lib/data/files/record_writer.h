// SPDX-License-Identifier: Apache-2.0
// RecordWriter: writes a TFRecord file. The file gets its name only when close() has completed it. A writer that fails,
// or is destroyed before, leaves no new file behind. Any thread may call; calls wait for each other.
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

    /// Writes one record. Throws IO, with errno; FAILED_PRECONDITION, reason "closed". Once a call has failed, every
    /// later call fails, too.
    void write(const void *data, std::size_t bytes);
    /// Writes out what is left and gives the file its name. A second call does nothing.
    void close();

  private:
    void guarded(FunctionRef<void()> work);

    std::mutex mutex_;
    std::string path_;
    std::unique_ptr<Sink> sink_; // null once closed or failed
    std::optional<Failure> failure_;
};

} // namespace mdist
