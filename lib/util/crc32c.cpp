// SPDX-License-Identifier: Apache-2.0
#include "util/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mdist {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78; // 0x1edc6f41 with the lowest bit first
constexpr std::size_t kWord = sizeof(uint64_t);

/// tables[k][b]: the remainder of byte b followed by k zero bytes.
constexpr auto kTables = [] {
    std::array<std::array<uint32_t, 256>, kWord> tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? kPolynomial : 0);
        tables[0][byte] = remainder;
    }
    for (std::size_t k = 1; k < kWord; ++k)
        for (uint32_t byte = 0; byte < 256; ++byte)
            tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
    return tables;
}();

#ifdef __x86_64__
__attribute__((target("sse4.2,crc32"))) uint32_t by_instruction(const unsigned char *from, std::size_t bytes,
                                                                uint32_t remainder) noexcept {
    uint64_t wide = remainder;
    for (; bytes >= kWord; bytes -= kWord, from += kWord) {
        uint64_t word;
        std::memcpy(&word, from, kWord);
        wide = _mm_crc32_u64(wide, word);
    }
    remainder = static_cast<uint32_t>(wide);
    for (; bytes != 0; --bytes) remainder = _mm_crc32_u8(remainder, *from++);
    return remainder;
}

bool has_instruction() noexcept {
    static const bool has = (__builtin_cpu_init(), __builtin_cpu_supports("sse4.2") != 0);
    return has;
}
#endif

uint32_t by_tables(const unsigned char *from, std::size_t bytes, uint32_t remainder) noexcept {
    for (; bytes >= kWord && std::endian::native == std::endian::little; bytes -= kWord, from += kWord) {
        uint64_t word;
        std::memcpy(&word, from, kWord);
        word ^= remainder;
        remainder = 0;
        for (std::size_t k = 0; k < kWord; ++k) remainder ^= kTables[kWord - 1 - k][word >> (8 * k) & 0xff];
    }
    for (; bytes != 0; --bytes) remainder = remainder >> 8 ^ kTables[0][(remainder ^ *from++) & 0xff];
    return remainder;
}

} // namespace

uint32_t crc32c(const void *data, std::size_t bytes, uint32_t before) noexcept {
#ifdef __x86_64__
    if (has_instruction()) return ~by_instruction(static_cast<const unsigned char *>(data), bytes, ~before);
#endif
    return crc32c_by_tables(data, bytes, before);
}

uint32_t crc32c_by_tables(const void *data, std::size_t bytes, uint32_t before) noexcept {
    return ~by_tables(static_cast<const unsigned char *>(data), bytes, ~before);
}

} // namespace mdist
