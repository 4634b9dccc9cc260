// SPDX-License-Identifier: Apache-2.0
// Segments: anonymous memory that one worker writes and its mates, the other workers of the host, can only read. So a
// worker that is lost, or has gone wild, never writes into a living one.
//
// The owner's offer, a line of text that travels with the rest of forming, says where to find the file behind it:
// /proc/<pid>/fd/<number>, to which the kernel lets processes of the same user. It has no name anywhere else and goes
// with its last user. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace mdist {

class OwnSegment {
  public:
    /// Zeros; they cost address space until they are written. Throws RESOURCE.
    explicit OwnSegment(std::size_t bytes);
    ~OwnSegment();
    OwnSegment(const OwnSegment &) = delete;
    OwnSegment &operator=(const OwnSegment &) = delete;

    /// Aligned to pages.
    char *data() const;
    std::size_t bytes() const;
    int fd() const { return fd_; }
    /// Where fd() has a byte of data().
    std::size_t file_offset(std::size_t offset) const;

    std::string offer() const { return offer_; }

  private:
    int fd_ = -1;
    char *map_ = nullptr;
    std::size_t length_ = 0;
    std::string offer_;
};

class MateSegment {
  public:
    /// Throws UNSUPPORTED, with the reason, where it cannot be had.
    explicit MateSegment(const std::string &offer);
    ~MateSegment();
    MateSegment(const MateSegment &) = delete;
    MateSegment &operator=(const MateSegment &) = delete;

    const char *data() const;
    std::size_t bytes() const;
    /// Whether its owner has ended, where the kernel tells. A look takes a system call.
    bool owner_gone() const noexcept;
    /// Opens what the owner has under that number, with O_NONBLOCK and the like; -1 and errno.
    int open_of_owner(int fd, int flags) const noexcept;

  private:
    void open(int fd, const std::string &cookie);

    int pid_ = 0;
    int pidfd_ = -1;
    const char *map_ = nullptr;
    std::size_t length_ = 0;
};

} // namespace mdist
