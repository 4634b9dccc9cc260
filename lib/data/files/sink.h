// SPDX-License-Identifier: Apache-2.0
// Sink: takes the bytes of a new file. For one thread at a time. After an exception only destruction is allowed. The
// new file then does not exist; an older file of that name is unchanged.
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
    /// Completes the file and gives it its name, on the disk, too.
    virtual void finish() = 0;
};

/// Creates a file. Throws INVALID_ARGUMENT if `path` is no name of a file. Throws, each with errno: NOT_FOUND if there
/// is no such folder; IO, reason "permission" if that is why; RESOURCE.
std::unique_ptr<Sink> create_file(const std::string &path);

/// Makes a sink that compresses into `packed`. `compression` is GZIP or ZLIB.
std::unique_ptr<Sink> pack(std::unique_ptr<Sink> packed, int32_t compression);

} // namespace mdist
