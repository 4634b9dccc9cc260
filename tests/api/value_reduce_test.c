// SPDX-License-Identifier: Apache-2.0
// mdist_strategy_reduce and related functions outside of steps: worked examples of TensorFlow's semantics, and random
// values compared with sums in long double.
#include "value_support.h"

static void expect_refused(mdist_strategy_t *strategy, mdist_status_t status, int op, const mdist_value_t *value,
                           const int32_t *axes, size_t axis_count, const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *const untouched = (mdist_value_t *)&status;
    mdist_value_t *out = untouched;
    const mdist_status_t got =
        mdist_strategy_reduce_axes(strategy, (mdist_reduce_op_t)op, value, axes, axis_count, &out, NULL, &error);
    WORDS(error, words);
    assert_int_equal(got, status);
    assert_ptr_equal(out, untouched);
    mdist_error_free(error);
}

static void replica_ids_sum_up_and_average_without_axes(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= MAX_REPLICAS; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        float ids[MAX_REPLICAS], sum = 0;
        mdist_tensor_t tensors[MAX_REPLICAS];
        for (uint32_t r = 0; r < n; ++r) {
            ids[r] = (float)r;
            sum += ids[r];
            tensors[r] = tensor_of(&ids[r], MDIST_FLOAT32, 0);
        }
        float mean = sum / (float)n;
        mdist_value_t *value = per_replica(strategy, tensors);
        expect_plain(reduced(strategy, MDIST_SUM, value, NULL, 0), tensor_of(&sum, MDIST_FLOAT32, 0));
        expect_plain(reduced(strategy, MDIST_MEAN, value, NULL, 0), tensor_of(&mean, MDIST_FLOAT32, 0));
        mdist_value_destroy(value);
        mdist_strategy_destroy(strategy);
    }
}

static void worked_examples_over_axes_come_out(void **state) {
    (void)state;
    const int32_t axis0 = 0, last = -1, both[] = {0, 1}, both_from_the_end[] = {-1, -2};
    mdist_strategy_t *two = make_strategy(2, NULL);
    mdist_strategy_t *one = make_strategy(1, NULL);

    // [1, 2] on both replicas: the mean is 1.5 and the sum is 6 = 3 N.
    float pair[] = {1, 2}, x1_5 = 1.5f, x6 = 6;
    mdist_tensor_t tensors[2] = {tensor_of(pair, MDIST_FLOAT32, 2), tensor_of(pair, MDIST_FLOAT32, 2)};
    mdist_value_t *value = per_replica(two, tensors);
    expect_plain(reduced(two, MDIST_MEAN, value, &axis0, 1), tensor_of(&x1_5, MDIST_FLOAT32, 0));
    expect_plain(reduced(two, MDIST_SUM, value, &axis0, 1), tensor_of(&x6, MDIST_FLOAT32, 0));
    expect_plain(reduced(two, MDIST_SUM, value, &last, 1), tensor_of(&x6, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);

    // [1, 2, 3] and [4]: the mean is 10 / 4, in float64 for integers.
    int32_t three[] = {1, 2, 3}, four[] = {4}, x10 = 10;
    double x2_5 = 2.5;
    tensors[0] = tensor_of(three, MDIST_INT32, 3);
    tensors[1] = tensor_of(four, MDIST_INT32, 1);
    value = per_replica(two, tensors);
    expect_plain(reduced(two, MDIST_MEAN, value, &axis0, 1), tensor_of(&x2_5, MDIST_FLOAT64, 0));
    expect_plain(reduced(two, MDIST_SUM, value, &axis0, 1), tensor_of(&x10, MDIST_INT32, 0));
    expect_refused(two, MDIST_ERR_MISMATCH, MDIST_SUM, value, NULL, 0, "[3]");
    mdist_value_destroy(value);

    // A last batch of 3 rows instead of 4: [5, 6] and [7]. The mean of the replicas' means is 6.25. The mean of all
    // rows is 6.
    float first[] = {5, 6}, second[] = {7}, means[] = {5.5f, 7}, x6_25 = 6.25f;
    tensors[0] = tensor_of(first, MDIST_FLOAT32, 2);
    tensors[1] = tensor_of(second, MDIST_FLOAT32, 1);
    value = per_replica(two, tensors);
    expect_plain(reduced(two, MDIST_MEAN, value, &axis0, 1), tensor_of(&x6, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);
    tensors[0] = tensor_of(&means[0], MDIST_FLOAT32, 0);
    tensors[1] = tensor_of(&means[1], MDIST_FLOAT32, 0);
    value = per_replica(two, tensors);
    expect_plain(reduced(two, MDIST_MEAN, value, NULL, 0), tensor_of(&x6_25, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);

    // One replica with [[1, 2], [3, 4]].
    float matrix[] = {1, 2, 3, 4}, x23[] = {2, 3}, x2_5f = 2.5f, x46[] = {4, 6}, x10f = 10;
    const mdist_tensor_t only = shaped(matrix, MDIST_FLOAT32, 2, 2, NO);
    value = per_replica(one, &only);
    expect_plain(reduced(one, MDIST_MEAN, value, &axis0, 1), tensor_of(x23, MDIST_FLOAT32, 2));
    expect_plain(reduced(one, MDIST_MEAN, value, both, 2), tensor_of(&x2_5f, MDIST_FLOAT32, 0));
    expect_plain(reduced(one, MDIST_MEAN, value, NULL, 0), shaped(matrix, MDIST_FLOAT32, 2, 2, NO));
    expect_plain(reduced(one, MDIST_SUM, value, &axis0, 1), tensor_of(x46, MDIST_FLOAT32, 2));
    expect_plain(reduced(one, MDIST_SUM, value, both, 2), tensor_of(&x10f, MDIST_FLOAT32, 0));
    expect_plain(reduced(one, MDIST_SUM, value, both_from_the_end, 2), tensor_of(&x10f, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);
    mdist_strategy_destroy(one);
    mdist_strategy_destroy(two);
}

static void no_element_at_all_has_no_mean(void **state) {
    (void)state;
    const int32_t axis0 = 0;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float numbers[] = {2, 4}, x3 = 3, zeros[2] = {0, 0};
    const uint32_t nan_bits[2] = {0x7fc00000, 0x7fc00000};
    const uint64_t nan_bits64 = 0x7ff8000000000000;
    mdist_tensor_t tensors[2] = {shaped(NULL, MDIST_FLOAT32, 0, 2, NO), shaped(NULL, MDIST_FLOAT32, 0, 2, NO)};
    mdist_value_t *value = per_replica(strategy, tensors);
    expect_plain(reduced(strategy, MDIST_MEAN, value, &axis0, 1),
                 tensor_of((void *)(uintptr_t)nan_bits, MDIST_FLOAT32, 2));
    expect_plain(reduced(strategy, MDIST_SUM, value, &axis0, 1), tensor_of(zeros, MDIST_FLOAT32, 2));
    mdist_value_destroy(value);
    tensors[0] = tensors[1] = tensor_of(NULL, MDIST_INT8, 1);
    tensors[0].shape[0] = tensors[1].shape[0] = 0;
    value = per_replica(strategy, tensors);
    expect_plain(reduced(strategy, MDIST_MEAN, value, &axis0, 1),
                 tensor_of((void *)(uintptr_t)&nan_bits64, MDIST_FLOAT64, 0));
    mdist_value_destroy(value);
    // A replica without rows changes neither the sum nor the count.
    tensors[0] = tensor_of(numbers, MDIST_FLOAT32, 2);
    tensors[1] = tensor_of(NULL, MDIST_FLOAT32, 1);
    tensors[1].shape[0] = 0;
    value = per_replica(strategy, tensors);
    expect_plain(reduced(strategy, MDIST_MEAN, value, &axis0, 1), tensor_of(&x3, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

// ---- Random values over random axes, compared with long double and wide integers.

typedef struct Sums {
    long double real, product;
    double least, most;
    uint64_t whole, whole_product, whole_least, whole_most, all, any, odd;
    uint64_t count;
    int any_nan;
} Sums;

static void add(Sums *s, int32_t dtype, const unsigned char *at) {
    if (is_integer(dtype)) {
        const uint64_t stored = load_whole(dtype, at), x = dtype == MDIST_BOOL ? stored != 0 : stored;
        s->all = s->count == 0 ? x : s->all & x;
        s->any |= x;
        s->odd ^= x;
        uint64_t two[2] = {s->whole_least, x};
        s->whole += x;
        s->whole_product = s->count == 0 ? x : s->whole_product * x;
        s->whole_least = s->count == 0 ? x : whole_reduced(MDIST_MIN, is_signed(dtype), two, 2);
        two[0] = s->whole_most;
        s->whole_most = s->count == 0 ? x : whole_reduced(MDIST_MAX, is_signed(dtype), two, 2);
    } else {
        const double x = load_real(dtype, at);
        s->real += (long double)x;
        s->product = s->count == 0 ? (long double)x : s->product * (long double)x;
        s->least = s->count == 0 ? x : real_combined(MDIST_MIN, s->least, x);
        s->most = s->count == 0 ? x : real_combined(MDIST_MAX, s->most, x);
    }
    ++s->count;
}

// Fills in elements whose sums are exact in a double, so the result is the long double sum, rounded once. Sums of
// 16-bit numbers are always exact. The floats here are multiples of a coarse step.
static void fill_exact(int32_t dtype, unsigned char *data, uint64_t elements) {
    fill(dtype, data, elements);
    if (is_integer(dtype)) return;
    for (uint64_t i = 0; i < elements; ++i)
        store_real(dtype, (double)(int64_t)(next_random() >> 44) / 4096 - 128,
                   data + i * mdist_dtype_size((mdist_dtype_t)dtype));
}

static void check_element(const Sums *s, int op, int32_t dtype, const unsigned char *got) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    unsigned char wanted[8];
    if (is_integer(dtype) && op == MDIST_MEAN) {
        double mean;
        memcpy(&mean, got, sizeof mean);
        const double sum = is_signed(dtype) ? (double)(int64_t)s->whole : (double)s->whole;
        assert_true(mean == sum / (double)s->count);
        return;
    }
    if (is_integer(dtype)) {
        const uint64_t results[] = {0,      s->whole, 0,     s->whole_least, s->whole_most, s->whole_product,
                                    s->all, s->any,   s->odd};
        memcpy(wanted, &results[op], sizeof wanted);
    } else {
        const double results[] = {0,        (double)s->real, (double)(s->real / (long double)s->count),
                                  s->least, s->most,         (double)s->product};
        if (op == MDIST_PROD || (op == MDIST_MEAN && dtype == MDIST_FLOAT64)) {
            const double x = load_real(dtype, got), y = results[op]; // rounded more than once, so only close
            assert_true(fabs(x - y) <= 1e-12 * fabs(y));
            return;
        }
        // The result must be the exact sum, rounded once. Rounding to float first would round a 16-bit number twice.
        if (dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16) {
            const double x = load_real(dtype, got), y = results[op];
            uint16_t bits, beside;
            memcpy(&bits, got, sizeof bits);
            for (int step = -1; step <= 1; step += 2) {
                beside = (uint16_t)(bits + step);
                const double other = load_real(dtype, (const unsigned char *)&beside);
                if (!isnan(other) && !isinf(x)) assert_true(fabs(x - y) <= fabs(other - y));
            }
            return;
        }
        store_real(dtype, results[op], wanted);
    }
    assert_memory_equal(got, wanted, size);
}

static void try_random_axes(mdist_strategy_t *strategy, uint32_t n) {
    const int32_t dtype = (int32_t)(1 + below(DTYPES));
    int op = (int)(1 + below(OPS));
    if (op == MDIST_PROD && !is_integer(dtype) && dtype != MDIST_FLOAT64) op = MDIST_SUM;
    if (op == MDIST_MEAN && (dtype == MDIST_INT64 || dtype == MDIST_UINT64)) op = MDIST_SUM;
    if (op != MDIST_MEAN && !takes(op, dtype)) op = dtype == MDIST_BOOL ? MDIST_XOR : MDIST_MIN;
    if (dtype == MDIST_BOOL && op == MDIST_MEAN) op = MDIST_AND;
    const int32_t rank = (int32_t)(1 + below(3));
    const unsigned mask = (unsigned)(1 + below((1u << rank) - 1)); // the dimensions to reduce
    uint64_t dims[3] = {NO, NO, NO};
    for (int32_t d = 0; d < rank; ++d) dims[d] = 1 + below(op == MDIST_PROD ? 3 : 7);
    int32_t axes[3];
    size_t axis_count = 0;
    for (int32_t d = rank - 1; d >= 0; --d)
        if ((mask >> d & 1) != 0) axes[axis_count++] = below(2) == 0 ? d : d - rank;

    static Sums sums[343];
    memset(sums, 0, sizeof sums);
    static unsigned char data[MAX_REPLICAS][343 * 8];
    mdist_tensor_t tensors[MAX_REPLICAS];
    for (uint32_t r = 0; r < n; ++r) {
        uint64_t own[3] = {dims[0], dims[1], dims[2]};
        for (int32_t d = 0; d < rank; ++d)
            if ((mask >> d & 1) != 0) own[d] = 1 + below(op == MDIST_PROD ? 3 : 7);
        tensors[r] = shaped(data[r], dtype, own[0], own[1], own[2]);
        const uint64_t elements = mdist_tensor_elements(&tensors[r]);
        fill_exact(dtype, data[r], elements);
        uint64_t i = 0;
        for (uint64_t a = 0; a < own[0]; ++a)
            for (uint64_t b = 0; b < (rank > 1 ? own[1] : 1); ++b)
                for (uint64_t c = 0; c < (rank > 2 ? own[2] : 1); ++c, ++i) {
                    const uint64_t at[3] = {a, b, c};
                    uint64_t to = 0;
                    for (int32_t d = 0; d < rank; ++d)
                        if ((mask >> d & 1) == 0) to = to * dims[d] + at[d];
                    add(&sums[to], dtype, data[r] + i * mdist_dtype_size((mdist_dtype_t)dtype));
                }
    }
    mdist_value_t *value = per_replica(strategy, tensors);
    mdist_value_t *out = reduced(strategy, op, value, axes, axis_count);
    mdist_error_t *error = NULL;
    mdist_tensor_t got;
    OK(mdist_value_tensor(out, 0, &got, &error));
    assert_int_equal(got.dtype, op == MDIST_MEAN && is_integer(dtype) ? (int32_t)MDIST_FLOAT64 : dtype);
    int32_t left = 0;
    for (int32_t d = 0; d < rank; ++d)
        if ((mask >> d & 1) == 0) assert_int_equal(got.shape[left++], dims[d]);
    assert_int_equal(got.rank, left);
    const size_t size = mdist_dtype_size((mdist_dtype_t)got.dtype);
    for (uint64_t i = 0; i < mdist_tensor_elements(&got); ++i)
        check_element(&sums[i], op, dtype, (const unsigned char *)got.data + i * size);
    mdist_value_destroy(out);
    mdist_value_destroy(value);
}

static void random_axes_agree_with_wider_arithmetic(void **state) {
    (void)state;
    seed_random(20240831);
    for (uint32_t n = 1; n <= MAX_REPLICAS; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, "caller");
        for (int turn = 0; turn < (is_long() ? 5000 : 250); ++turn) try_random_axes(strategy, n);
        mdist_strategy_destroy(strategy);
    }
}

static void minimum_and_maximum_know_nan_and_the_signs_of_zero(void **state) {
    (void)state;
    const int32_t axis0 = 0;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    const uint32_t payload = 0xffc12345, canonical = 0x7fc00000;
    float first[2] = {1, 0}, second[2] = {-0.0f, 0.0f}, minus = -0.0f, plus = 0.0f;
    memcpy(&first[0], &payload, sizeof payload);
    mdist_tensor_t tensors[2] = {tensor_of(first, MDIST_FLOAT32, 2), tensor_of(second, MDIST_FLOAT32, 2)};
    mdist_value_t *value = per_replica(strategy, tensors);
    for (int op = 1; op <= MDIST_PROD; ++op)
        expect_plain(reduced(strategy, op, value, &axis0, 1),
                     tensor_of((void *)(uintptr_t)&canonical, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);
    tensors[0] = tensors[1];
    value = per_replica(strategy, tensors);
    expect_plain(reduced(strategy, MDIST_MIN, value, &axis0, 1), tensor_of(&minus, MDIST_FLOAT32, 0));
    expect_plain(reduced(strategy, MDIST_MAX, value, &axis0, 1), tensor_of(&plus, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void axes_out_of_range_or_given_twice_are_refused(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float data[6] = {1, 2, 3, 4, 5, 6};
    mdist_tensor_t tensors[2] = {shaped(data, MDIST_FLOAT32, 2, 3, NO), shaped(data, MDIST_FLOAT32, 1, 3, NO)};
    mdist_value_t *value = per_replica(strategy, tensors);
    const int32_t bad[] = {2, -3, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; ++i) {
        char words[32];
        snprintf(words, sizeof words, "axis is %ld", (long)bad[i]);
        expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, &bad[i], 1, words);
    }
    const int32_t twice[] = {0, -2}, other[] = {1}, zero[] = {0};
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, twice, 2, "twice");
    expect_refused(strategy, MDIST_ERR_MISMATCH, MDIST_SUM, value, other, 1, "[1, 3]");
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, 0, value, zero, 1, "op is 0");
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, 9, value, zero, 1, "op is 9");
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, NULL, 1, "axes is NULL");
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, zero, SIZE_MAX / 4, "axis_count");
    expect_refused(strategy, MDIST_ERR_BAD_HANDLE, MDIST_SUM, NULL, zero, 1, "");
    mdist_value_destroy(value);
    tensors[0] = tensor_of(data, MDIST_FLOAT32, 0);
    tensors[1] = tensor_of(data, MDIST_FLOAT32, 0);
    value = per_replica(strategy, tensors);
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, zero, 1, "axis is 0");
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void what_empty_tensors_leave_behind_may_be_too_large(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const int32_t axis0 = 0;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_tensor_t tensors[2];
    tensors[0] = tensors[1] = shaped(NULL, MDIST_INT8, 0, (uint64_t)1 << 62, NO);
    mdist_value_t *value = per_replica(strategy, tensors);
    mdist_value_t *out = NULL;
    const mdist_status_t status =
        mdist_strategy_reduce_axes(strategy, MDIST_MEAN, value, &axis0, 1, &out, NULL, &error);
    assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "larger than memory");
    mdist_error_free(error);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void one_content_for_all_reduces_to_itself_or_is_refused(void **state) {
    (void)state;
    const int32_t axis0 = 0;
    mdist_strategy_t *two = make_strategy(2, NULL), *one = make_strategy(1, NULL), *const all[] = {one, two};
    float five = 5, pair[2] = {1, 2}, zeros[2] = {0, -0.0f}, x1_5 = 1.5f, x6 = 6, x4 = 4;
    const mdist_tensor_t scalar = tensor_of(&five, MDIST_FLOAT32, 0);
    mdist_value_t *value = plain(scalar);
    const int itself[] = {MDIST_MEAN, MDIST_MIN, MDIST_MAX};
    for (int i = 0; i < 3; ++i) expect_plain(reduced(two, itself[i], value, NULL, 0), scalar);
    for (int i = 0; i < 3; ++i) expect_plain(reduced(one, itself[i], value, NULL, 0), scalar);
    for (mdist_strategy_t *const *each = all; each < all + 2; ++each) { // however many replicas there are
        expect_refused(*each, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, NULL, 0, "this one is plain");
        expect_refused(*each, MDIST_ERR_INVALID_ARGUMENT, MDIST_PROD, value, NULL, 0, "this one is plain");
    }
    mdist_value_destroy(value);

    value = plain(tensor_of(zeros, MDIST_FLOAT32, 2)); // and whatever the elements are
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, NULL, 0, "SUM");
    expect_refused(one, MDIST_ERR_INVALID_ARGUMENT, MDIST_PROD, value, NULL, 0, "PROD");
    mdist_value_destroy(value);

    value = plain(tensor_of(pair, MDIST_FLOAT32, 2));
    expect_plain(reduced(two, MDIST_MEAN, value, &axis0, 1), tensor_of(&x1_5, MDIST_FLOAT32, 0));
    expect_refused(one, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, &axis0, 1, "this one is plain");
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, &axis0, 1, "this one is plain");
    mdist_value_destroy(value);

    value = mirrored(two, tensor_of(pair, MDIST_FLOAT32, 2));
    for (int i = 0; i < 3; ++i)
        expect_plain(reduced(two, itself[i], value, NULL, 0), tensor_of(pair, MDIST_FLOAT32, 2));
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, NULL, 0, "this one is mirrored");
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_PROD, value, NULL, 0, "this one is mirrored");
    expect_plain(reduced(two, MDIST_SUM, value, &axis0, 1), tensor_of(&x6, MDIST_FLOAT32, 0)); // each equal copy counts
    expect_plain(reduced(two, MDIST_MEAN, value, &axis0, 1), tensor_of(&x1_5, MDIST_FLOAT32, 0));
    expect_plain(reduced(two, MDIST_PROD, value, &axis0, 1), tensor_of(&x4, MDIST_FLOAT32, 0));
    mdist_value_destroy(value);

    value = mirrored(two, tensor_of(zeros, MDIST_FLOAT32, 2));
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value, NULL, 0, "this one is mirrored");
    mdist_value_destroy(value);
    mdist_strategy_destroy(one);
    mdist_strategy_destroy(two);
}

static void a_value_of_another_world_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *two = make_strategy(2, NULL), *three = make_strategy(3, NULL);
    float data[3] = {1, 2, 3};
    const int32_t axis0 = 0;
    mdist_tensor_t tensors[3];
    for (int i = 0; i < 3; ++i) tensors[i] = tensor_of(&data[i], MDIST_FLOAT32, 1);
    mdist_value_t *value = per_replica(three, tensors), *out = NULL;
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_MEAN, value, NULL, 0, "3 tensors");
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_MEAN, value, &axis0, 1, "3 tensors");
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce_to(two, MDIST_SUM, &value, NULL, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_gather(two, value, 0, &out, NULL, &error));
    mdist_value_destroy(value);
    value = mirrored(three, tensors[0]);
    expect_refused(two, MDIST_ERR_INVALID_ARGUMENT, MDIST_MEAN, value, NULL, 0, "3 tensors");
    mdist_value_destroy(value);
    mdist_strategy_destroy(three);
    mdist_strategy_destroy(two);
}

static void reduce_to_goes_where_it_is_sent(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    int32_t data[3][2] = {{1, 2}, {10, 20}, {100, 200}}, sums[2] = {111, 222};
    mdist_tensor_t tensors[3];
    for (int i = 0; i < 3; ++i) tensors[i] = tensor_of(data[i], MDIST_INT32, 2);
    const mdist_tensor_t wanted = tensor_of(sums, MDIST_INT32, 2);
    mdist_value_t *value = per_replica(strategy, tensors), *out = NULL;
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, &value, NULL, 1, &out, NULL, &error));
    expect_mirrored(out, 3, wanted);
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, &value, (const char *const[]){""}, 1, &out, NULL, &error));
    expect_mirrored(out, 3, wanted);
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, &value, (const char *const[]){device_name(2)}, 1, &out, NULL,
                                &error));
    expect_plain(out, wanted);
    const char *const bad[] = {"cpu:3", "gpu:1", "cpu", "cpu:0 ", "CPU:0"};
    for (size_t i = 0; i < 5; ++i) {
        const mdist_status_t status =
            mdist_strategy_reduce_to(strategy, MDIST_SUM, &value, (const char *const[]){bad[i]}, 1, &out, NULL, &error);
        WORDS(error, bad[i]);
        WORDS(error, on_gpus() ? "gpu:0, gpu:0/1, gpu:0/2" : "cpu:0, cpu:1, cpu:2");
        assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
        mdist_error_free(error);
        error = NULL;
    }
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_strategy_reduce_to(strategy, MDIST_MEAN, &value, NULL, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_strategy_reduce_to(strategy, MDIST_SUM, &value, NULL, 1, NULL, NULL, &error));
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void a_batch_is_reduced_as_a_whole_or_not_at_all(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float data[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}; // value, replica, element
    float sums[2][2] = {{4, 6}, {12, 14}};
    mdist_value_t *values[3];
    for (int v = 0; v < 2; ++v) {
        mdist_tensor_t tensors[2] = {tensor_of(data[v][0], MDIST_FLOAT32, 2), tensor_of(data[v][1], MDIST_FLOAT32, 2)};
        values[v] = per_replica(strategy, tensors);
    }
    mdist_value_t *out[3] = {NULL, NULL, NULL};
    mdist_value_t *const *const list = values;
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, list, NULL, 2, out, NULL, &error));
    for (int v = 0; v < 2; ++v) expect_mirrored(out[v], 2, tensor_of(sums[v], MDIST_FLOAT32, 2));
    const char *destinations[3] = {device_name(1), NULL, "nowhere"};
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, list, destinations, 2, out, NULL, &error));
    expect_plain(out[0], tensor_of(sums[0], MDIST_FLOAT32, 2));
    expect_mirrored(out[1], 2, tensor_of(sums[1], MDIST_FLOAT32, 2));
    out[0] = out[1] = out[2] = NULL;
    values[2] = values[0];
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_strategy_reduce_to(strategy, MDIST_SUM, list, destinations, 3, out, NULL, &error));
    values[2] = NULL;
    destinations[2] = NULL;
    FAILS(MDIST_ERR_BAD_HANDLE,
          mdist_strategy_reduce_to(strategy, MDIST_SUM, list, destinations, 3, out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce_to(strategy, MDIST_SUM, NULL, NULL, 1, out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce_to(strategy, MDIST_SUM, list, NULL, 1, NULL, NULL, &error));
    for (int i = 0; i < 3; ++i) assert_null(out[i]);
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, NULL, NULL, 0, NULL, NULL, &error));
    for (int v = 0; v < 2; ++v) mdist_value_destroy(values[v]);
    mdist_strategy_destroy(strategy);
}

static void gather_joins_along_any_axis(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *out = NULL;
    int32_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8, 9, 10};
    // Joins [2, 2] and [3, 2] along 0, [2, 2] and [2, 3] along 1, [1, 2, 2] and [1, 2, 3] along 2.
    int32_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, columns[] = {1, 2, 5, 6, 7, 3, 4, 8, 9, 10};
    mdist_tensor_t tensors[2] = {shaped(a, MDIST_INT32, 2, 2, NO), shaped(b, MDIST_INT32, 3, 2, NO)};
    mdist_value_t *value = per_replica(strategy, tensors);
    OK(mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    expect_plain(out, shaped(rows, MDIST_INT32, 5, 2, NO));
    OK(mdist_strategy_gather(strategy, value, -2, &out, NULL, &error));
    expect_plain(out, shaped(rows, MDIST_INT32, 5, 2, NO));
    FAILS(MDIST_ERR_MISMATCH, mdist_strategy_gather(strategy, value, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_gather(strategy, value, 2, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_gather(strategy, value, -3, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_gather(strategy, value, 0, NULL, NULL, &error));
    mdist_value_destroy(value);
    tensors[1] = shaped(b, MDIST_INT32, 2, 3, NO);
    value = per_replica(strategy, tensors);
    OK(mdist_strategy_gather(strategy, value, 1, &out, NULL, &error));
    expect_plain(out, shaped(columns, MDIST_INT32, 2, 5, NO));
    mdist_value_destroy(value);
    tensors[0] = shaped(a, MDIST_INT32, 1, 2, 2);
    tensors[1] = shaped(b, MDIST_INT32, 1, 2, 3);
    value = per_replica(strategy, tensors);
    OK(mdist_strategy_gather(strategy, value, 2, &out, NULL, &error));
    expect_plain(out, shaped(columns, MDIST_INT32, 1, 2, 5));
    mdist_value_destroy(value);
    // A replica without rows, then different ranks, then scalars.
    tensors[0] = tensor_of(a, MDIST_INT32, 2);
    tensors[1] = shaped(NULL, MDIST_INT32, 0, NO, NO);
    value = per_replica(strategy, tensors);
    OK(mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    expect_plain(out, tensor_of(a, MDIST_INT32, 2));
    mdist_value_destroy(value);
    tensors[1] = shaped(b, MDIST_INT32, 1, 2, NO);
    value = per_replica(strategy, tensors);
    FAILS(MDIST_ERR_MISMATCH, mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    mdist_value_destroy(value);
    tensors[0] = tensors[1] = tensor_of(a, MDIST_INT32, 0);
    value = per_replica(strategy, tensors);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    mdist_value_destroy(value);
    // A mirrored value counts once per replica.
    int32_t twice[] = {1, 2, 3, 4, 1, 2, 3, 4};
    value = mirrored(strategy, tensor_of(a, MDIST_INT32, 4));
    OK(mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    expect_plain(out, tensor_of(twice, MDIST_INT32, 8));
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replica_ids_sum_up_and_average_without_axes),
        cmocka_unit_test(worked_examples_over_axes_come_out),
        cmocka_unit_test(no_element_at_all_has_no_mean),
        cmocka_unit_test(random_axes_agree_with_wider_arithmetic),
        cmocka_unit_test(minimum_and_maximum_know_nan_and_the_signs_of_zero),
        cmocka_unit_test(axes_out_of_range_or_given_twice_are_refused),
        cmocka_unit_test(what_empty_tensors_leave_behind_may_be_too_large),
        cmocka_unit_test(one_content_for_all_reduces_to_itself_or_is_refused),
        cmocka_unit_test(a_value_of_another_world_is_refused),
        cmocka_unit_test(reduce_to_goes_where_it_is_sent),
        cmocka_unit_test(a_batch_is_reduced_as_a_whole_or_not_at_all),
        cmocka_unit_test(gather_joins_along_any_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
