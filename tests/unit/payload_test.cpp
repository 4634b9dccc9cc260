// SPDX-License-Identifier: Apache-2.0
// Payload: the bytes of lib/comm/README.md, "What travels between workers", and readers that believe nothing.
#include "util/payload.h"
#include "subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

extern "C" {
#include <cmocka.h>
}

namespace {

using namespace mdist;
using namespace std::string_literals;

void bytes_are_those_of_the_specification(void **) {
    const std::array<unsigned char, 3> three = {0xfe, 0, 1};
    const std::string bytes = PayloadWriter()
                                  .number(uint8_t{0x7f})
                                  .number(uint16_t{0x0102})
                                  .number(uint32_t{0x01020304})
                                  .number(uint64_t{0x0102030405060708})
                                  .bytes(three)
                                  .text("ab")
                                  .blob("c")
                                  .text("")
                                  .take();
    assert_true(bytes == "\x7f"
                         "\x02\x01"
                         "\x04\x03\x02\x01"
                         "\x08\x07\x06\x05\x04\x03\x02\x01"
                         "\xfe\x00\x01"
                         "\x02\x00\x00\x00"
                         "ab"
                         "\x01\x00\x00\x00\x00\x00\x00\x00"
                         "c"
                         "\x00\x00\x00\x00"s);
    PayloadReader reader(bytes);
    assert_int_equal(reader.number<uint8_t>(), 0x7f);
    assert_int_equal(reader.number<uint16_t>(), 0x0102);
    assert_int_equal(reader.number<uint32_t>(), 0x01020304);
    assert_true(reader.number<uint64_t>() == 0x0102030405060708);
    assert_true(reader.bytes<3>() == three);
    assert_true(reader.text() == "ab");
    assert_true(reader.blob() == "c");
    assert_false(reader.complete());
    assert_true(reader.text().empty());
    assert_true(reader.complete());
}

void what_is_cut_off_anywhere_is_bad_for_good(void **) {
    const std::string bytes = PayloadWriter().number(uint32_t{7}).text("abc").blob("de").take();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        PayloadReader reader(std::string_view(bytes).substr(0, length));
        reader.number<uint32_t>();
        reader.text();
        assert_true(reader.blob().empty());
        assert_true(reader.bad());
        assert_int_equal(reader.number<uint8_t>(), 0);
        assert_false(reader.complete());
    }
}

void lengths_beyond_the_end_are_not_believed(void **) {
    const std::string bytes = PayloadWriter().number(UINT64_MAX).take() + "rest";
    PayloadReader blob(bytes), text(bytes);
    assert_true(blob.blob().empty() && blob.bad());
    assert_true(text.text().empty() && text.bad());
}

enum class Colour : uint8_t { kRed = 1, kBlue };

struct Inner {
    uint16_t number = 0;
    std::array<unsigned char, 2> bytes = {};

    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.number, self.bytes);
    }
};

struct Outer {
    bool flag = false;
    Colour colour = Colour::kRed;
    int32_t negative = 0;
    std::string name;
    std::vector<Inner> list;

    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.flag, self.colour, self.negative, self.name, limited(self.list, 2));
    }
};

void a_struct_says_once_what_its_bytes_are(void **) {
    const Outer out = {true, Colour::kBlue, -2, "ab", {{1, {3, 4}}, {0x0506, {7, 8}}}};
    const std::string bytes = PayloadWriter()(out, uint8_t{9}).take();
    assert_true(bytes ==
                "\x01\x02\xfe\xff\xff\xff"
                "\x02\x00\x00\x00"
                "ab"
                "\x02\x00\x00\x00"
                "\x01\x00\x03\x04\x06\x05\x07\x08"
                "\x09"s);
    Outer in;
    uint8_t last = 0;
    assert_true(PayloadReader(bytes)(in, last).complete());
    assert_true(in.flag && in.colour == Colour::kBlue && in.negative == -2 && in.name == "ab" && last == 9);
    assert_int_equal(in.list.size(), 2);
    assert_int_equal(in.list[1].number, 0x0506);
    assert_true(in.list[1].bytes == out.list[1].bytes);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        PayloadReader reader(std::string_view(bytes).substr(0, length));
        assert_true(reader(in, last).bad());
    }
}

void a_list_longer_than_its_limit_is_not_read(void **) {
    std::vector<std::string> three = {"a", "b", "c"}, none;
    const std::string bytes = PayloadWriter()(limited(three, 3)).take();
    assert_true(PayloadReader(bytes)(limited(none, 2)).bad());
    assert_true(none.empty());
    assert_true(PayloadReader(bytes)(limited(none, 3)).complete());
    assert_true(none == three);
}

} // namespace

SUBJECT(payload) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_specification),
        cmocka_unit_test(what_is_cut_off_anywhere_is_bad_for_good),
        cmocka_unit_test(lengths_beyond_the_end_are_not_believed),
        cmocka_unit_test(a_struct_says_once_what_its_bytes_are),
        cmocka_unit_test(a_list_longer_than_its_limit_is_not_read),
    };
    return cmocka_run_group_tests_name("unit/payload", tests, nullptr, nullptr);
}
