// SPDX-License-Identifier: Apache-2.0
// CRC-32C: published values, and the fast way beside the plain one.
#include "util/crc32c.h"
#include "subject.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;

/// Of RFC 3720, B.4, and the check value of the catalogues.
void published_values_are_given(void **) {
    for (const auto sum : {crc32c, crc32c_by_tables}) {
        unsigned char bytes[32] = {};
        assert_int_equal(sum("123456789", 9, 0), 0xe3069283);
        assert_int_equal(sum(nullptr, 0, 0), 0);
        assert_int_equal(sum(bytes, 32, 0), 0x8a9136aa);
        std::memset(bytes, 0xff, sizeof bytes);
        assert_int_equal(sum(bytes, 32, 0), 0x62a8ab43);
        for (unsigned char i = 0; i < 32; ++i) bytes[i] = i;
        assert_int_equal(sum(bytes, 32, 0), 0x46dd794e);
        for (unsigned char i = 0; i < 32; ++i) bytes[i] = static_cast<unsigned char>(31 - i);
        assert_int_equal(sum(bytes, 32, 0), 0x113fdb5c);
    }
}

void instruction_and_tables_agree_at_every_length_and_place(void **) {
    std::vector<unsigned char> bytes(300);
    uint32_t x = 1;
    for (unsigned char &byte : bytes) byte = static_cast<unsigned char>((x = x * 1664525 + 1013904223) >> 24);
    for (std::size_t begin = 0; begin < 9; ++begin) {
        for (std::size_t length = 0; begin + length <= bytes.size(); ++length) {
            const uint32_t whole = crc32c(bytes.data() + begin, length);
            assert_int_equal(whole, crc32c_by_tables(bytes.data() + begin, length));
            const std::size_t half = length / 2;
            const uint32_t first = crc32c(bytes.data() + begin, half);
            assert_int_equal(whole, crc32c(bytes.data() + begin + half, length - half, first));
        }
    }
}

} // namespace

SUBJECT(crc32c) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(published_values_are_given),
        cmocka_unit_test(instruction_and_tables_agree_at_every_length_and_place),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
