// SPDX-License-Identifier: Apache-2.0
// Segments: anonymous memory that one worker writes. The other workers of the host, its mates, can only read it. So a
// worker that crashes or goes wrong never writes into the memory of another.
//
// The owner's offer is a line of text that travels with the other data of forming. It says where to find the file:
// /proc/<pid>/fd/<number>, which the kernel opens to processes of the same user. The file has no other name, and
// disappears with its last user. Any thread.
#pragma once

#include "util/open_file.h"

#include <cstddef>
#include <string>

namespace mdist {

class OwnSegment {
  public:
    /// Creates a segment of zeros. It costs only address space until it is backed. Throws RESOURCE.
    explicit OwnSegment(std::size_t bytes);
    ~OwnSegment();
    OwnSegment(const OwnSegment &) = delete;
    OwnSegment &operator=(const OwnSegment &) = delete;

    /// Aligned to pages.
    char *data() const;
    std::size_t bytes() const;
    int fd() const { return file_.get(); }
    /// The position in the file fd() of a byte of data().
    std::size_t file_offset(std::size_t offset) const;
    /// Gives memory to these bytes, and keeps their content. Returns 0 or an errno. Nobody, mates included, may read or
    /// write bytes that are not backed: if memory is short, the access would end the process with SIGBUS.
    int back(std::size_t offset, std::size_t bytes) const noexcept;
    /// back(), but throws RESOURCE. `purpose` is for the message.
    void require(std::size_t offset, std::size_t bytes, const char *purpose) const;

    std::string offer() const { return offer_; }

  private:
    OpenFile file_;
    char *map_ = nullptr;
    std::size_t length_ = 0;
    std::string offer_;
};

class MateSegment {
  public:
    /// Opens a mate's segment. Throws UNSUPPORTED, with the reason, if that is not possible.
    explicit MateSegment(const std::string &offer);
    ~MateSegment();
    MateSegment(const MateSegment &) = delete;
    MateSegment &operator=(const MateSegment &) = delete;

    const char *data() const;
    std::size_t bytes() const;
    /// Whether the owner's process has ended, if the kernel can tell. Costs a system call.
    bool owner_gone() const noexcept;
    /// Opens the file that the owner has under that number. Adds O_NONBLOCK and the like to `flags`. Returns -1 and
    /// sets errno on failure.
    int open_of_owner(int fd, int flags) const noexcept;

  private:
    void open(int fd, const std::string &cookie);

    int pid_ = 0;
    OpenFile process_; // none on kernels before 5.3
    const char *map_ = nullptr;
    std::size_t length_ = 0;
};

} // namespace mdist
