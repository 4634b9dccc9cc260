// SPDX-License-Identifier: Apache-2.0
// Bytes: what a file holds, from front to back. By one thread at a time.
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
    /// Up to `most` bytes, at least one unless this is the end: 0, again and again.
    virtual std::size_t read(char *to, std::size_t most) = 0;
    /// How many are still to come, where that is known.
    virtual std::optional<uint64_t> left() const { return std::nullopt; }
};

/// A regular file, up to the size it has now. Throws NOT_FOUND; IO, reason "permission" where that is why; RESOURCE,
/// each with errno; INVALID_ARGUMENT, reason "not_regular" for directories, pipes and devices. Reading throws IO;
/// DATA_LOSS, reason "corrupt", where the file has become shorter.
std::unique_ptr<Bytes> open_file(const std::string &path);

/// What `packed` holds, unpacked; `compression` is GZIP (members in a row are one) or ZLIB. Reading throws DATA_LOSS,
/// reason "corrupt".
std::unique_ptr<Bytes> unpack(std::unique_ptr<Bytes> packed, int32_t compression, const std::string &path);

} // namespace mdist
