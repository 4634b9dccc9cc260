// SPDX-License-Identifier: Apache-2.0
// Files of a folder that survive a crash: a new one is written under another name, flushed to the disk and renamed, so
// that at every moment there is the old file or the new one, whole.
//
// Throw IO with errno; NOT_FOUND for what is not there; RESOURCE where the process has no file descriptors left. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdist {

/// A file descriptor, closed in the end.
class OpenFile {
  public:
    explicit OpenFile(int fd) : fd_(fd) {}
    OpenFile(OpenFile &&other) noexcept;
    OpenFile &operator=(OpenFile &&) = delete;
    ~OpenFile();
    int fd() const { return fd_; }

  private:
    int fd_;
};

class Folder {
  public:
    /// `doing` is for messages; what is not there is NOT_FOUND for "open" alone.
    explicit Folder(std::string path, std::string_view doing = "open");
    /// Makes it, and the folders it lies in, if it is not there.
    static Folder created(const std::string &path);

    const std::string &path() const { return path_; }
    std::string path_of(std::string_view name) const;
    int fd() const { return file_.fd(); }

    /// Until it goes, no other process that asks gets it: FAILED_PRECONDITION, reason "busy".
    void lock();
    bool has(const std::string &name) const;
    /// No failure if it can't: the log tells.
    void remove(const std::string &name) noexcept;
    /// Names of files come and go on the disk, too.
    void flush();

  private:
    std::string path_;
    OpenFile file_;
};

class NewFile {
  public:
    NewFile(Folder &folder, std::string name);
    ~NewFile();
    NewFile(const NewFile &) = delete;
    NewFile &operator=(const NewFile &) = delete;

    void write_at(uint64_t offset, const void *data, std::size_t bytes);
    /// From now on it has its name, on the disk, too.
    void commit();

    static std::string temporary_name(const std::string &name);

  private:
    Folder &folder_;
    std::string name_, temporary_;
    OpenFile file_;
    bool committed_ = false;
};

class OldFile {
  public:
    OldFile(const Folder &folder, const std::string &name);

    const std::string &path() const { return path_; }
    uint64_t bytes() const { return bytes_; }
    /// Throws DATA_LOSS where the file has less.
    void read_at(uint64_t offset, void *data, std::size_t bytes) const;

  private:
    std::string path_;
    OpenFile file_;
    uint64_t bytes_;
};

} // namespace mdist
