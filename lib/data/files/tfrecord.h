// SPDX-License-Identifier: Apache-2.0
// The format of a TFRecord file. Each record is: the length (8 bytes, little-endian), the length's checksum (4 bytes),
// the data, the data's checksum (4 bytes). A checksum is a CRC-32C, rotated and with a constant added, so that data
// which contains checksums does not weaken it. Pure functions; any thread.
#pragma once

#include "util/crc32c.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace mdist::tfrecord {

constexpr std::size_t kLength = 8, kChecksum = 4, kHeader = kLength + kChecksum;

inline uint32_t checksum(const void *data, std::size_t bytes) {
    return std::rotr(crc32c(data, bytes), 15) + 0xa282ead8;
}

inline uint64_t read_number(const char *from, std::size_t bytes) {
    uint64_t number = 0;
    for (std::size_t i = bytes; i != 0; --i) number = number << 8 | static_cast<unsigned char>(from[i - 1]);
    return number;
}

inline void write_number(char *to, std::size_t bytes, uint64_t number) {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<char>(number >> 8 * i);
}

} // namespace mdist::tfrecord
