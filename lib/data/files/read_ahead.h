// SPDX-License-Identifier: Apache-2.0
// ReadAhead: threads that read several files ahead of the one thread that takes their records.
//
// One thread at a time reads each file, front to back, up to a limit of records ahead. Records and failures come out in
// the same places as from the file itself. The threads touch only files, nothing of the caller's.
#pragma once

#include "data/files/record_file.h"
#include "data/stream_threads.h"

#include <memory>

namespace mdist {

class ReadAhead {
  public:
    /// Starts no thread yet: that happens with the first file.
    ReadAhead(std::size_t threads, const Iteration &iteration);
    ~ReadAhead();
    ReadAhead(const ReadAhead &) = delete;
    ReadAhead &operator=(const ReadAhead &) = delete;

    /// Returns the same file, read ahead until the result is destroyed. Throws RESOURCE if no thread can be started.
    std::unique_ptr<RecordFile> ahead(std::unique_ptr<RecordFile> file);

  private:
    class Readers;
    class AheadFile;

    std::size_t threads_;
    std::shared_ptr<Readers> readers_;
    StreamThreads stream_threads_; // last member, so that it is destroyed first
};

} // namespace mdist
