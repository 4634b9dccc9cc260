// SPDX-License-Identifier: Apache-2.0
// Sink: where the bytes of a new file go. By one thread at a time; after an exception nothing but destruction is
// allowed, and then there is no such file, or the one that was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mdist {

class Sink {
  public:
    virtual ~Sink() = default;
    virtual void write(const char *from, std::size_t bytes) = 0;
    /// That was all: the file has its name from now on, on the disk, too.
    virtual void finish() = 0;
};

/// Throws INVALID_ARGUMENT for what is no file's name; NOT_FOUND where there is no such folder; IO, reason "permission"
/// where that is why; RESOURCE, each with errno.
std::unique_ptr<Sink> create_file(const std::string &path);

/// What is written goes to `packed` compressed as `compression` (GZIP or ZLIB) says.
std::unique_ptr<Sink> pack(std::unique_ptr<Sink> packed, int32_t compression);

} // namespace mdist
