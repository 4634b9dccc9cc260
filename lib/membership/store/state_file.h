// SPDX-License-Identifier: Apache-2.0
// StateFile: what the store of an elastic job must know again if it is killed and started anew. It is a file in a
// folder of its own, which stays locked for as long as this object lives. One thread at a time.
#pragma once

#include <string>

#include "util/files.h"

namespace mdist {

class StateFile {
  public:
    /// Creates the folder if it is missing. Throws IO, NOT_FOUND, RESOURCE, and FAILED_PRECONDITION (`busy`) if another
    /// process has locked it.
    explicit StateFile(const std::string &folder);

    /// Returns what was kept last, "" if there is nothing. Throws IO; DATA_LOSS if the file is damaged; CONFIG
    /// (`different_version`).
    std::string read() const;
    /// Keeps this in its place, durably. "" removes the file. Throws IO. Then what was kept before
    /// is still there, or, if only the last flush failed, this.
    void keep(const std::string &bytes);

  private:
    Folder folder_;
};

} // namespace mdist
