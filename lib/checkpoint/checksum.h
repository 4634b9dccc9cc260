// SPDX-License-Identifier: Apache-2.0
// Computes CRC-32 checksums, as zlib, PNG and Python's zlib.crc32 do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Returns the checksum of `bytes`, appended to bytes whose checksum is `before`.
uint32_t crc32_of(const void *bytes, std::size_t count, uint32_t before = 0);

} // namespace mdist
