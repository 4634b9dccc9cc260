// SPDX-License-Identifier: Apache-2.0
// CRC-32 as zlib, PNG and Python's zlib.crc32 have it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Of more bytes, behind those whose checksum is `before`.
uint32_t crc32_of(const void *bytes, std::size_t count, uint32_t before = 0);

} // namespace mdist
