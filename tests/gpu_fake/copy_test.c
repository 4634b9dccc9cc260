// SPDX-License-Identifier: Apache-2.0
// Copies between any two memories, and memory of GPUs.
#include "gpu_support.h"

enum { kMost = 70000, kPad = 64 };

static unsigned char pattern(size_t at) {
    return (unsigned char)(at * 31 + at / 251);
}

typedef struct Side {
    mdist_tensor_t all; // bytes, with spare room on both sides
} Side;

/// Pageable memory, page-locked memory, memory of gpu:0 and of gpu:1.
static Side side_of(mdist_strategy_t *strategy, int kind, unsigned char *pageable) {
    mdist_error_t *error = NULL;
    Side side;
    void *memory = pageable;
    const uint64_t bytes = kMost + 2 * kPad;
    if (kind == 1) OK(mdist_alloc_pinned(bytes, &memory, &error));
    if (kind >= 2) OK(mdist_alloc(strategy, (uint32_t)kind - 2, bytes, &memory, &error));
    side.all = kind < 2 ? tensor_of(memory, MDIST_UINT8, bytes) : on_gpu(memory, MDIST_UINT8, bytes, kind - 2);
    return side;
}

static mdist_tensor_t part_of(const Side *side, size_t offset, uint64_t bytes) {
    mdist_tensor_t part = side->all;
    part.data = (char *)part.data + kPad + offset;
    part.shape[0] = bytes;
    return part;
}

typedef struct Copying {
    mdist_tensor_t to, from;
    Note note;
} Copying;

static int32_t copy_in_step(mdist_replica_t *replica, void *user_data) {
    Copying *const self = user_data;
    mdist_error_t *error = NULL;
    if (mdist_replica_local_index(replica) != 0) return 0;
    note(&self->note, MDIST_OK, mdist_replica_copy(replica, &self->to, &self->from, &error), &error, "copy");
    return 0;
}

static void copies_go_between_any_two_memories(void **state) {
    (void)state;
    static unsigned char rooms[2][kMost + 2 * kPad], seen[kMost + 2 * kPad], marks[kMost + 2 * kPad];
    const uint64_t sizes[] = {0, 1, 3, 255, 4096, 65537, kMost};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    memset(marks, 0xee, sizeof marks);
    for (int pair = 0; pair < 16; ++pair) {
        Side from = side_of(strategy, pair / 4, rooms[0]), to = side_of(strategy, pair % 4, rooms[1]);
        mdist_tensor_t all = tensor_of(marks, MDIST_UINT8, sizeof marks);
        for (size_t at = 0; at < sizeof seen; ++at) seen[at] = pattern(at);
        const mdist_tensor_t filling = tensor_of(seen, MDIST_UINT8, sizeof seen);
        OK(mdist_tensor_copy(&from.all, &filling, &error));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            const size_t offset = i % 3; // unaligned, too
            Copying copying = {part_of(&to, offset, sizes[i]), part_of(&from, 2 * offset, sizes[i]), {""}};
            if (2 * offset + sizes[i] > kMost) copying.from = part_of(&from, 0, sizes[i]);
            const size_t begin = (size_t)((char *)copying.from.data - (char *)from.all.data);
            OK(mdist_tensor_copy(&to.all, &all, &error));
            if (i % 2 == 0)
                OK(mdist_tensor_copy(&copying.to, &copying.from, &error));
            else
                OK(mdist_run(strategy, copy_in_step, &copying, NULL, &error));
            assert_string_equal(copying.note.text, "");
            mdist_tensor_t room = tensor_of(seen, MDIST_UINT8, sizeof seen);
            OK(mdist_tensor_copy(&room, &to.all, &error));
            for (size_t at = 0; at < sizeof seen; ++at) {
                const size_t inside = at - kPad - offset;
                const int copied = at >= kPad + offset && inside < sizes[i];
                if (seen[at] != (copied ? pattern(begin + inside) : 0xee))
                    fail_msg("pair %d, %llu bytes: byte %zu is wrong", pair, (unsigned long long)sizes[i], at);
            }
        }
        if (pair / 4 != 0) mdist_free(from.all.data);
        if (pair % 4 != 0) mdist_free(to.all.data);
    }
    mdist_strategy_destroy(strategy);
    expect_no_problems();
}

static void copies_that_cannot_be_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float room[8] = {0};
    mdist_strategy_t *strategy = gpu_strategy("gpu:1");
    const mdist_tensor_t there = floats_on(strategy, 0, NULL, 8, 1), here = tensor_of(room, MDIST_FLOAT32, 8);
    mdist_tensor_t wrong = here;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_tensor_copy(NULL, &here, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_tensor_copy(&there, NULL, &error));
    wrong.shape[0] = 7;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_tensor_copy(&there, &wrong, &error));
    wrong = here;
    wrong.dtype = MDIST_INT32;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_tensor_copy(&there, &wrong, &error));
    wrong = on_gpu(room, MDIST_FLOAT32, 8, 1); // it is not on gpu:1
    assert_int_equal(mdist_tensor_copy(&there, &wrong, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "from is said to lie on gpu:1, but its memory is the host's");
    mdist_error_free(error);
    wrong = there;
    wrong.device_index = 0;
    assert_int_equal(mdist_tensor_copy(&wrong, &here, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "to is said to lie on gpu:0, but its memory is gpu:1's");
    mdist_error_free(error);
    wrong.device_index = 5;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_tensor_copy(&wrong, &here, &error));
    mdist_tensor_t first = there, second = there;
    first.shape[0] = second.shape[0] = 5;
    second.data = (char *)second.data + 8;
    assert_int_equal(mdist_tensor_copy(&first, &second, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "overlap");
    mdist_error_free(error);
    OK(mdist_tensor_copy(&there, &there, &error));
    mdist_free(there.data);
    mdist_strategy_destroy(strategy);
}

static void memory_of_a_replica_is_zero_and_of_its_gpu(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    for (int round = 0; round < 20; ++round) {
        const uint32_t local = (uint32_t)round % 2;
        void *memory = NULL;
        uint64_t shape = 1000;
        mdist_tensor_t described;
        OK(mdist_alloc(strategy, local, 4000, &memory, &error));
        OK(mdist_tensor_describe(memory, MDIST_FLOAT32, &shape, 1, &described, &error));
        assert_int_equal(described.device_kind, MDIST_DEVICE_GPU);
        assert_int_equal(described.device_index, local);
        expect_floats(&described, 0);
        mdist_tensor_t ones = described;
        float numbers[1000];
        for (int i = 0; i < 1000; ++i) numbers[i] = 1;
        const mdist_tensor_t host = tensor_of(numbers, MDIST_FLOAT32, 1000);
        OK(mdist_tensor_copy(&ones, &host, &error)); // for the next test that gets this memory
        mdist_free(memory);
    }
    void *nothing = NULL;
    OK(mdist_alloc(strategy, 0, 0, &nothing, &error));
    assert_non_null(nothing);
    mdist_free(nothing);
    FAILS(MDIST_ERR_OUT_OF_MEMORY, mdist_alloc(strategy, 0, (size_t)1 << 40, &nothing, &error));
    mdist_strategy_destroy(strategy);
}

GPU_TESTS("devices=2,delay_us=100", cmocka_unit_test(copies_go_between_any_two_memories),
          cmocka_unit_test(copies_that_cannot_be_are_refused),
          cmocka_unit_test(memory_of_a_replica_is_zero_and_of_its_gpu))
