// SPDX-License-Identifier: Apache-2.0
// Tensors from DLPack and to DLPack: both sides share the memory, and it lives as long as one of them needs it.
#include <pthread.h>
#include <sched.h>

#include "collective_support.h"
#include "dlpack_layout.h"

static int64_t elements_of(const int64_t *shape, int32_t rank) {
    int64_t elements = 1;
    for (int32_t i = 0; i < rank; ++i) elements *= shape[i];
    return elements;
}

/// Checks that the value is plain and has this address, dtype and shape.
static void expect_taken(const mdist_value_t *value, const void *data, int32_t dtype, int32_t rank,
                         const int64_t *shape) {
    mdist_error_t *error = NULL;
    mdist_tensor_t got;
    assert_int_equal(mdist_value_kind(value), MDIST_VALUE_PLAIN);
    assert_int_equal(mdist_value_count(value), 1);
    OK(mdist_value_tensor(value, 0, &got, &error));
    assert_ptr_equal(got.data, data);
    assert_int_equal(got.dtype, dtype);
    assert_int_equal(got.rank, rank);
    assert_int_equal(got.device_kind, MDIST_DEVICE_CPU);
    assert_int_equal(got.device_index, 0);
    for (int32_t i = 0; i < MDIST_MAX_RANK; ++i) assert_int_equal(got.shape[i], i < rank ? shape[i] : 0);
}

/// Checks the DLPack tensor that the library gave out, with its strides. Without elements, its data is NULL.
static void expect_given(const Ours *ours, const void *data, int32_t dtype, int32_t rank, const int64_t *shape) {
    const DlTensor *const tensor = ours->tensor;
    int64_t strides[MDIST_MAX_RANK];
    dense_strides(shape, rank, strides);
    assert_ptr_equal(tensor->data, elements_of(shape, rank) == 0 ? NULL : data);
    assert_int_equal(tensor->byte_offset, 0);
    assert_int_equal(tensor->device_type, 1);
    assert_int_equal(tensor->device_id, 0);
    assert_int_equal(tensor->code, dl_types[dtype].code);
    assert_int_equal(tensor->bits, dl_types[dtype].bits);
    assert_int_equal(tensor->lanes, 1);
    assert_int_equal(tensor->ndim, rank);
    assert_non_null(tensor->shape);
    assert_non_null(tensor->strides);
    for (int32_t i = 0; i < rank; ++i) {
        assert_int_equal(tensor->shape[i], shape[i]);
        assert_int_equal(tensor->strides[i], strides[i]);
    }
    if (ours->layout == LEGACY) return;
    const DlVersioned *const versioned = (const DlVersioned *)ours->managed.versioned;
    assert_int_equal(versioned->major, 1);
    assert_int_equal(versioned->minor, 0);
    assert_int_equal(versioned->flags, 1); // read-only
}

static mdist_value_t *taken(Theirs *theirs) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(take_in(theirs, &value, &error));
    return value;
}

static Ours given(const mdist_value_t *value, size_t index, DlLayout layout) {
    mdist_error_t *error = NULL;
    Ours ours;
    OK(give_out(value, index, layout, &ours, &error));
    return ours;
}

/// Takes a tensor in, gives it out twice, and takes one of these in again. The bits of `order` choose layouts and the
/// order of deletions.
static void round_trip(void *data, int32_t dtype, int32_t rank, const int64_t *shape, unsigned order) {
    mdist_error_t *error = NULL;
    Theirs theirs;
    describe(&theirs, order & 1 ? VERSIONED : LEGACY, data, dtype, rank, shape);
    mdist_value_t *first = taken(&theirs), *second = NULL;
    expect_taken(first, data, dtype, rank, shape);
    const Ours there = given(first, 0, order & 2 ? VERSIONED : LEGACY);
    const Ours back = given(first, 0, order & 4 ? VERSIONED : LEGACY);
    expect_given(&there, data, dtype, rank, shape);
    expect_given(&back, data, dtype, rank, shape);
    if (order & 8) mdist_value_destroy(first);
    OK(mdist_value_from_dlpack(&back.managed, &second, &error));
    expect_taken(second, elements_of(shape, rank) == 0 ? NULL : data, dtype, rank, shape);
    if (order & 16) delete_ours(&there);
    mdist_value_destroy(second);
    assert_int_equal(theirs.deleted, (order & 24) == 24);
    if (!(order & 16)) {
        expect_given(&there, data, dtype, rank, shape);
        delete_ours(&there);
    }
    assert_int_equal(theirs.deleted, (order & 8) != 0);
    if (!(order & 8)) mdist_value_destroy(first);
    assert_int_equal(theirs.deleted, 1);
}

static void every_type_and_rank_goes_around_without_a_copy(void **state) {
    (void)state;
    static unsigned char data[8 * 1024];
    const int64_t shape[MDIST_MAX_RANK] = {2, 3, 1, 2, 4, 1, 3, 2};
    for (int32_t dtype = 1; dtype <= DL_DTYPES; ++dtype)
        for (int32_t rank = 0; rank <= MDIST_MAX_RANK; ++rank)
            for (unsigned order = 0; order < 32; ++order) round_trip(data, dtype, rank, shape, order);
}

static void tensors_without_elements_are_tensors(void **state) {
    (void)state;
    float number = 0;
    const int64_t shapes[4][3] = {{0, 2, 3}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}};
    for (int i = 0; i < 4; ++i)
        for (int32_t rank = i == 0 || i == 3 ? 1 : i + 1; rank <= 3; ++rank)
            for (unsigned order = 0; order < 32; ++order) {
                round_trip(&number, MDIST_FLOAT32, rank, shapes[i], order);
                round_trip(NULL, MDIST_FLOAT32, rank, shapes[i], order);
            }
}

static void the_offset_is_part_of_the_address(void **state) {
    (void)state;
    float data[6] = {0};
    const int64_t shape[2] = {2, 2};
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        Theirs theirs;
        describe(&theirs, (DlLayout)layout, data, MDIST_FLOAT32, 2, shape);
        inside(&theirs)->byte_offset = 8;
        mdist_value_t *value = taken(&theirs);
        expect_taken(value, data + 2, MDIST_FLOAT32, 2, shape);
        const Ours ours = given(value, 0, (DlLayout)layout);
        expect_given(&ours, data + 2, MDIST_FLOAT32, 2, shape);
        delete_ours(&ours);
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 1);
    }
}

static void page_locked_memory_any_minor_version_and_any_flag_will_do(void **state) {
    (void)state;
    float data[2] = {0};
    const int64_t shape[1] = {2};
    Theirs theirs;
    describe(&theirs, VERSIONED, data, MDIST_FLOAT32, 1, shape);
    inside(&theirs)->device_type = 3;
    inside(&theirs)->device_id = 1;
    theirs.versioned.minor = 9;
    theirs.versioned.flags = ~(uint64_t)0;
    mdist_value_t *value = taken(&theirs);
    expect_taken(value, data, MDIST_FLOAT32, 1, shape);
    mdist_value_destroy(value);
    assert_int_equal(theirs.deleted, 1);
}

static void without_a_deleter_only_the_memory_has_to_stay(void **state) {
    (void)state;
    float data[2] = {0};
    const int64_t shape[1] = {2};
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        Theirs theirs;
        describe(&theirs, (DlLayout)layout, data, MDIST_FLOAT32, 1, shape);
        theirs.legacy.deleter = NULL;
        theirs.versioned.deleter = NULL;
        mdist_value_t *value = taken(&theirs);
        memset(&theirs, 0xff, sizeof theirs);
        expect_taken(value, data, MDIST_FLOAT32, 1, shape);
        const Ours ours = given(value, 0, (DlLayout)layout);
        mdist_value_destroy(value);
        expect_given(&ours, data, MDIST_FLOAT32, 1, shape);
        delete_ours(&ours);
    }
}

// ---- Random strides and shapes. Dense means: element i in row-major order is at offset i.

static int lies_dense(const int64_t *shape, const int64_t *strides, int32_t rank) {
    const int64_t elements = elements_of(shape, rank);
    int64_t index[MDIST_MAX_RANK] = {0};
    for (int64_t at = 0; at < elements; ++at) {
        int64_t offset = 0;
        for (int32_t i = 0; i < rank; ++i) offset += index[i] * strides[i];
        if (offset != at) return 0;
        for (int32_t i = rank; i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
    }
    return 1;
}

static void random_strides(int64_t *strides, const int64_t *shape, int32_t rank) {
    dense_strides(shape, rank, strides);
    for (int32_t i = 0; i < rank; ++i)
        if (below(4) == 0 || (shape[i] == 1 && below(2) == 0)) strides[i] = (int64_t)below(9) - 3;
}

static void whatever_is_dense_comes_in_and_nothing_else(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static unsigned char data[64 + 8 * 4 * 4 * 4 * 4 * 4 * 4 * 4 * 4];
    int dense = 0, refused = 0;
    seed_random(20240607);
    for (int turn = 0; turn < (is_long() ? 100000 : 3000); ++turn) {
        int64_t shape[MDIST_MAX_RANK], strides[MDIST_MAX_RANK];
        const int32_t rank = (int32_t)below(MDIST_MAX_RANK + 1), dtype = (int32_t)below(DL_DTYPES) + 1;
        for (int32_t i = 0; i < rank; ++i) shape[i] = below(16) == 0 ? 0 : (int64_t)below(3) + 1;
        random_strides(strides, shape, rank);
        const uint64_t offset = below(64);
        Theirs theirs;
        describe(&theirs, (DlLayout)below(LAYOUTS), data, dtype, rank, shape);
        set_strides(&theirs, strides);
        inside(&theirs)->byte_offset = offset;
        mdist_value_t *value = NULL;
        if (lies_dense(shape, strides, rank)) {
            value = taken(&theirs);
            expect_taken(value, data + offset, dtype, rank, shape);
            const Ours ours = given(value, 0, (DlLayout)below(LAYOUTS));
            mdist_value_destroy(value);
            expect_given(&ours, data + offset, dtype, rank, shape);
            assert_int_equal(theirs.deleted, 0);
            delete_ours(&ours);
            assert_int_equal(theirs.deleted, 1);
            ++dense;
        } else {
            FAILS(MDIST_ERR_UNSUPPORTED, take_in(&theirs, &value, &error));
            assert_null(value);
            assert_int_equal(theirs.deleted, 0);
            ++refused;
        }
    }
    print_message("# %d dense, %d refused\n", dense, refused);
    assert_true(dense > 500 && refused > 500);
}

// ---- Memory that the library allocated.

static void our_memory_outlives_its_value(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    double numbers[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const mdist_tensor_t tensors[2] = {tensor_of(numbers[0], MDIST_FLOAT64, 3),
                                       tensor_of(numbers[1], MDIST_FLOAT64, 3)};
    const int64_t shape[1] = {3};
    mdist_value_t *value = NULL;
    OK(mdist_value_per_replica(strategy, tensors, 2, &value, &error));
    mdist_strategy_destroy(strategy);
    Ours ours[2][LAYOUTS];
    for (int i = 0; i < 2; ++i)
        for (int layout = 0; layout < LAYOUTS; ++layout) {
            mdist_tensor_t seen;
            OK(mdist_value_tensor(value, (size_t)i, &seen, &error));
            ours[i][layout] = given(value, (size_t)i, (DlLayout)layout);
            expect_given(&ours[i][layout], seen.data, MDIST_FLOAT64, 1, shape);
        }
    mdist_value_destroy(value);
    for (int i = 0; i < 2; ++i)
        for (int layout = 0; layout < LAYOUTS; ++layout) {
            assert_memory_equal(ours[i][layout].tensor->data, numbers[i], sizeof numbers[i]);
            delete_ours(&ours[i][layout]);
        }
}

// ---- Values in runs, in datasets and on other threads.

typedef struct Argument {
    Theirs theirs;
    mdist_value_t *value;
    const void *data;
    int wrong; // number of replicas that saw something else
} Argument;

static int32_t look_and_destroy(mdist_replica_t *replica, void *user_data) {
    Argument *self = user_data;
    mdist_tensor_t seen;
    if (mdist_replica_argument(replica, 0, NULL, &seen, NULL) != MDIST_OK) return 1;
    mdist_value_destroy(self->value); // the run keeps the value
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (seen.data != self->data || __atomic_load_n(&self->theirs.deleted, __ATOMIC_SEQ_CST) != 0)
        __atomic_add_fetch(&self->wrong, 1, __ATOMIC_SEQ_CST);
    return mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static void replicas_see_the_same_memory(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    float data[4] = {1, 2, 3, 4};
    const int64_t shape[2] = {2, 2};
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        Argument self = {.data = data};
        describe(&self.theirs, (DlLayout)layout, data, MDIST_FLOAT32, 2, shape);
        self.value = taken(&self.theirs);
        mdist_value_t *const argument = self.value;
        OK(mdist_run(strategy, look_and_destroy, &self,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1}, &error));
        assert_int_equal(self.wrong, 0);
        assert_int_equal(self.theirs.deleted, 1);
    }
    mdist_strategy_destroy(strategy);
}

static void destroy_value(void *user_data) {
    mdist_value_destroy(user_data);
}

static void rows_of_a_dataset_come_from_and_go_to_others(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int64_t shape[2] = {4, 2}, row[1] = {2};
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        Theirs theirs;
        describe(&theirs, (DlLayout)layout, data, MDIST_INT32, 2, shape);
        mdist_value_t *value = taken(&theirs), *element = NULL;
        mdist_tensor_t array;
        mdist_dataset_t *rows = NULL, *ahead = NULL;
        mdist_iterator_t *iterator = NULL;
        Ours ours[4];
        OK(mdist_value_tensor(value, 0, &array, &error));
        OK(mdist_dataset_from_tensors(&array, 1, value, destroy_value, &rows, NULL, &error));
        OK(mdist_dataset_prefetch(rows, 2, &ahead, NULL, &error));
        OK(mdist_iterator_create(ahead, &iterator, &error));
        for (int i = 0; i < 4; ++i) {
            OK(mdist_iterator_next(iterator, &element, 1, &error));
            ours[i] = given(element, 0, (DlLayout)layout);
            mdist_value_destroy(element);
        }
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(rows);
        mdist_dataset_destroy(ahead);
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(theirs.deleted, 0);
            expect_given(&ours[i], data + 2 * i, MDIST_INT32, 1, row);
            delete_ours(&ours[i]);
        }
        // The iterator's thread may release the tensor last.
        while (__atomic_load_n(&theirs.deleted, __ATOMIC_SEQ_CST) == 0) sched_yield();
        assert_int_equal(theirs.deleted, 1);
    }
}

typedef struct Ending {
    mdist_value_t *value;
    Ours ours;
} Ending;

static void *destroy_there(void *argument) {
    const Ending *self = argument;
    mdist_value_destroy(self->value);
    return NULL;
}

static void *delete_there(void *argument) {
    const Ending *self = argument;
    delete_ours(&self->ours);
    return NULL;
}

static void two_threads_may_let_go_at_once(void **state) {
    (void)state;
    float data[2] = {0};
    const int64_t shape[1] = {2};
    for (int turn = 0; turn < (is_long() ? 5000 : 200); ++turn) {
        Theirs theirs;
        describe(&theirs, (DlLayout)(turn % LAYOUTS), data, MDIST_FLOAT32, 1, shape);
        Ending ending = {.value = taken(&theirs)};
        ending.ours = given(ending.value, 0, (DlLayout)(turn / 2 % LAYOUTS));
        pthread_t threads[2];
        assert_int_equal(pthread_create(&threads[0], NULL, destroy_there, &ending), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, delete_there, &ending), 0);
        for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
        assert_int_equal(theirs.deleted, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_rank_goes_around_without_a_copy),
        cmocka_unit_test(tensors_without_elements_are_tensors),
        cmocka_unit_test(the_offset_is_part_of_the_address),
        cmocka_unit_test(page_locked_memory_any_minor_version_and_any_flag_will_do),
        cmocka_unit_test(without_a_deleter_only_the_memory_has_to_stay),
        cmocka_unit_test(whatever_is_dense_comes_in_and_nothing_else),
        cmocka_unit_test(our_memory_outlives_its_value),
        cmocka_unit_test(replicas_see_the_same_memory),
        cmocka_unit_test(rows_of_a_dataset_come_from_and_go_to_others),
        cmocka_unit_test(two_threads_may_let_go_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
