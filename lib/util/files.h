// SPDX-License-Identifier: Apache-2.0
// Files in a folder that survive a crash. A new file is written under a temporary name, flushed to the disk and
// renamed. So at every moment either the old file or the new one is there, complete.
//
// All functions throw IO with errno, NOT_FOUND for a missing file, and RESOURCE if the process has no file descriptors
// left. Not thread-safe.
#pragma once

#include "util/failure.h"
#include "util/open_file.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

/// The failure of a system call, with its errno: "cannot open "/data/a": Permission denied". `doing` is what the call
/// was for. `file` names the file. It is NOT_FOUND if a file to "open" is missing.
Failure file_failure(std::string_view doing, std::string_view file, int code);

class Folder {
  public:
    /// Opens a folder. `doing` is for messages. A missing folder is NOT_FOUND only with "open", and otherwise IO.
    explicit Folder(std::string path, std::string_view doing = "open");
    /// Opens a folder. Creates it, and the folders above it, if missing.
    static Folder created(const std::string &path);

    const std::string &path() const { return path_; }
    std::string path_of(std::string_view name) const;
    int fd() const { return file_.get(); }

    /// Locks the folder for as long as this object lives. Throws FAILED_PRECONDITION, reason "busy", if another process
    /// has locked it. Does nothing on file systems without locks.
    void lock();
    bool has(const std::string &name) const;
    /// Returns the names of all that is in it, in no order.
    std::vector<std::string> names() const;
    /// Removes a file. Logs a warning if it cannot.
    void remove(const std::string &name) noexcept;
    /// Makes new, renamed and removed names durable on the disk.
    void flush();

  private:
    std::string path_;
    OpenFile file_;
};

/// A file being written. Without commit() it is removed.
class NewFile {
  public:
    /// `only_owner`: nobody else may read it.
    NewFile(Folder &folder, std::string name, bool only_owner = false);
    ~NewFile();
    NewFile(const NewFile &) = delete;
    NewFile &operator=(const NewFile &) = delete;

    void write_at(uint64_t offset, const void *data, std::size_t bytes);
    /// Gives the file its name, durably on the disk.
    void commit();

    static std::string temporary_name(const std::string &name);

  private:
    Folder &folder_;
    std::string name_, temporary_;
    OpenFile file_;
    bool committed_ = false;
};

/// An existing file, open for reading. Throws DATA_LOSS if it is no regular file.
class OldFile {
  public:
    OldFile(const Folder &folder, const std::string &name);

    const std::string &path() const { return path_; }
    uint64_t bytes() const { return bytes_; }
    /// Throws DATA_LOSS if the file is too short.
    void read_at(uint64_t offset, void *data, std::size_t bytes) const;

  private:
    std::string path_;
    OpenFile file_;
    uint64_t bytes_;
};

} // namespace mdist
