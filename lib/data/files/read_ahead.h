// SPDX-License-Identifier: Apache-2.0
// ReadAhead: threads that read several files ahead, for the one thread that takes their records.
//
// Each file is read by one thread at a time, front to back, up to some records ahead; what it gives, and where it
// fails, is what the file itself gives. The threads touch nothing of the caller's: files alone.
#pragma once

#include "data/crew.h"
#include "data/files/record_file.h"

#include <memory>

namespace mdist {

class ReadAhead {
  public:
    /// No thread is started before there is a file.
    ReadAhead(std::size_t threads, const Iteration &iteration);
    ~ReadAhead();
    ReadAhead(const ReadAhead &) = delete;
    ReadAhead &operator=(const ReadAhead &) = delete;

    /// The same file, read ahead until the result goes. Throws RESOURCE if there is no thread.
    std::unique_ptr<RecordFile> ahead(std::unique_ptr<RecordFile> file);

  private:
    class Readers;
    class AheadFile;

    std::size_t threads_;
    std::shared_ptr<Readers> readers_;
    Crew crew_; // goes first
};

} // namespace mdist
