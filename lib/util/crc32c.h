// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli): finds every change of up to 32 bits in a row, and all others but one in 2^32. By the CPU's own
// instruction where it has one. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Of `bytes` behind those that gave `before`; 0: of these alone.
uint32_t crc32c(const void *data, std::size_t bytes, uint32_t before = 0) noexcept;

/// The same by tables: for other CPUs, and its twin in tests.
uint32_t crc32c_by_tables(const void *data, std::size_t bytes, uint32_t before = 0) noexcept;

} // namespace mdist
