// SPDX-License-Identifier: Apache-2.0
// Bytes: reads the content of a file from front to back. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mdist {

class Bytes {
  public:
    virtual ~Bytes() = default;
    /// Reads up to `most` bytes and returns how many: at least one, or 0 at the end and on every later call.
    virtual std::size_t read(char *to, std::size_t most) = 0;
    /// Returns how many bytes are still to come, if known.
    virtual std::optional<uint64_t> left() const { return std::nullopt; }
};

/// Opens a regular file, to be read up to the size that it has now. Throws:
/// - NOT_FOUND, IO (reason "permission" if that is why) or RESOURCE, each with errno;
/// - INVALID_ARGUMENT, reason "not_regular", for directories, pipes, sockets and devices.
/// Reading throws IO, or DATA_LOSS, reason "corrupt", if the file has become shorter.
std::unique_ptr<Bytes> open_file(const std::string &path);

/// Decompresses `packed`. `compression` is GZIP (members in a row are read as one) or ZLIB. Reading throws DATA_LOSS,
/// reason "corrupt".
std::unique_ptr<Bytes> unpack(std::unique_ptr<Bytes> packed, int32_t compression, const std::string &path);

} // namespace mdist
