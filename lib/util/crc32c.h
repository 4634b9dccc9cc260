// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli): a checksum that finds every change of up to 32 bits in a row, and all other changes but one in
// 2^32. Uses the CPU's own instruction if it has one. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Returns the checksum of `bytes` that follow the bytes with checksum `before`. 0: of these bytes alone.
uint32_t crc32c(const void *data, std::size_t bytes, uint32_t before = 0) noexcept;

/// Computes the same with tables, for CPUs without the instruction and for comparison in tests.
uint32_t crc32c_by_tables(const void *data, std::size_t bytes, uint32_t before = 0) noexcept;

} // namespace mdist
