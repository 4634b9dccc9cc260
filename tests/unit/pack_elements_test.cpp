// SPDX-License-Identifier: Apache-2.0
// Packs: which elements of which buffers go into which operation.
#include "comm/packs.h"

#include <random>
#include <string>

#include "mdist_test.h"
#include "subject.h"
#include "util/dtype.h"
#include "util/text.h"

namespace {

using namespace mdist;

char memory[1 << 16];

mdist_buffer_t floats(uint64_t elements) {
    return {memory, elements, MDIST_FLOAT32, 0};
}

mdist_buffer_t bytes(uint64_t elements) {
    return {memory, elements, MDIST_UINT8, 0};
}

/// "0 1[0+3] | 1[3+2]": whole buffers by their index, parts with begin and length.
std::string packed(const std::vector<mdist_buffer_t> &buffers, const Packing &packing) {
    std::string out;
    for (const Pack &pack : packs_of(buffers.data(), buffers.size(), packing)) {
        if (!out.empty()) out += " | ";
        for (const Slice &slice : pack) {
            const bool whole = slice.elements == buffers[slice.buffer].elements;
            out += text(&slice == &pack[0] ? "" : " ", slice.buffer,
                        whole ? "" : text("[", slice.begin, "+", slice.elements, "]"));
        }
    }
    return out;
}

void a_pack_that_is_larger_takes_no_further_buffer(void **) {
    const std::vector<mdist_buffer_t> buffers = {floats(2), floats(2), floats(1), floats(9), floats(1)};
    assert_string_equal(packed(buffers, {1, 1}).c_str(), "0 | 1 | 2 | 3 | 4");
    assert_string_equal(packed(buffers, {8, 1}).c_str(), "0 1 | 2 3 | 4");
    assert_string_equal(packed(buffers, {16, 1}).c_str(), "0 1 2 | 3 | 4");
    assert_string_equal(packed(buffers, {1000, 1}).c_str(), "0 1 2 3 4");
}

void parts_by_count_are_of_equal_length_but_the_last(void **) {
    const std::vector<mdist_buffer_t> buffers = {floats(3), floats(4), floats(4)};
    assert_string_equal(packed(buffers, {0, 2}).c_str(), "0 1[0+2] | 1[2+2] 2");
    assert_string_equal(packed(buffers, {0, 3}).c_str(), "0 | 1[0+3] | 1[3+1] 2");
    assert_string_equal(packed(buffers, {0, 4}).c_str(), "0[0+2] | 0[2+1] 1[0+1] | 1[1+2] | 1[3+1] 2");
    assert_string_equal(packed({floats(2)}, {0, 3}).c_str(), "0"); // too few for three
    assert_string_equal(packed(buffers, {0, 0}).c_str(), "0 | 1 | 2");
}

void packs_are_of_one_dtype(void **) {
    const std::vector<mdist_buffer_t> buffers = {floats(1), bytes(1), floats(2), bytes(3)};
    assert_string_equal(packed(buffers, {1000, 1}).c_str(), "0 2 | 1 3");
    assert_string_equal(packed(buffers, {0, 2}).c_str(), "0 | 2 | 1 3[0+1] | 3[1+2]");
    assert_string_equal(packed(buffers, {0, 0}).c_str(), "0 | 2 | 1 | 3");
}

void without_elements_there_is_one_pack(void **) {
    assert_int_equal(packs_of(nullptr, 0, {8, 1}).size(), 1);
    const mdist_buffer_t none = floats(0);
    const std::vector<Pack> packs = packs_of(&none, 1, {0, 2});
    assert_int_equal(packs.size(), 1);
    assert_int_equal(packs[0].size(), 0);
}

void every_element_is_in_one_pack(void **) {
    std::mt19937 random(test_seed(7));
    for (int round = 0; round < 2000; ++round) {
        std::vector<mdist_buffer_t> buffers;
        for (uint32_t b = random() % 8; b != 0; --b)
            buffers.push_back(random() % 2 != 0 ? floats(random() % 20) : bytes(random() % 20));
        const bool by_bytes = random() % 2 != 0;
        const Packing packing = {by_bytes ? 1 + random() % 60 : 0, by_bytes ? 1 : static_cast<uint32_t>(random() % 9)};
        std::vector<uint64_t> next(buffers.size()); // element of each buffer
        for (const Pack &pack : packs_of(buffers.data(), buffers.size(), packing)) {
            for (const Slice &slice : pack) {
                assert_int_equal(buffers[slice.buffer].dtype, buffers[pack[0].buffer].dtype);
                assert_int_equal(slice.begin, next[slice.buffer]);
                assert_int_not_equal(slice.elements, 0);
                next[slice.buffer] += slice.elements;
            }
            const std::vector<mdist_buffer_t> slices = cut(buffers.data(), pack);
            for (std::size_t i = 0; i < pack.size(); ++i) {
                const std::size_t offset = pack[i].begin * dtype_size(slices[i].dtype);
                assert_ptr_equal(slices[i].data, memory + offset);
                assert_int_equal(slices[i].elements, pack[i].elements);
            }
        }
        for (std::size_t b = 0; b < buffers.size(); ++b) assert_int_equal(next[b], buffers[b].elements);
    }
}

} // namespace

SUBJECT(pack_elements) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_pack_that_is_larger_takes_no_further_buffer),
        cmocka_unit_test(parts_by_count_are_of_equal_length_but_the_last),
        cmocka_unit_test(packs_are_of_one_dtype),
        cmocka_unit_test(without_elements_there_is_one_pack),
        cmocka_unit_test(every_element_is_in_one_pack),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
