// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Chunk {
    struct Chunk *next;
    size_t used;
    _Alignas(16) char bytes[1 << 18];
} Chunk;

static Chunk *chunks;

void *take_memory(size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > sizeof chunks->bytes) abort();
    if (chunks == NULL || chunks->used + bytes > sizeof chunks->bytes) {
        Chunk *chunk = malloc(sizeof *chunk);
        if (chunk == NULL) abort();
        chunk->next = chunks;
        chunk->used = 0;
        chunks = chunk;
    }
    void *const memory = chunks->bytes + chunks->used;
    chunks->used += bytes;
    return memset(memory, 0, bytes);
}

void forget_tensors(void) {
    while (chunks != NULL) {
        Chunk *const next = chunks->next;
        free(chunks);
        chunks = next;
    }
}

int is_integer(int32_t dtype) {
    return dtype >= MDIST_INT8;
}

static int is_signed(int32_t dtype) {
    return dtype == MDIST_INT8 || dtype == MDIST_INT16 || dtype == MDIST_INT32 || dtype == MDIST_INT64;
}

/// Returns the type in which a type is reduced.
static int32_t reduced_in(int32_t dtype) {
    return dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16 ? MDIST_FLOAT32 : dtype;
}

/// Rounds to this number of binary digits, ties to even. The last digit is at least 2^least.
static double round_digits(double x, int digits, int least, double largest) {
    if (x == 0 || isnan(x) || isinf(x)) return x;
    int exponent;
    frexp(x, &exponent);
    const int unit = exponent - digits > least ? exponent - digits : least;
    const double rounded = ldexp(nearbyint(ldexp(x, -unit)), unit);
    return fabs(rounded) > largest ? copysign(INFINITY, x) : rounded;
}

static double rounded(int32_t dtype, double x) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return (double)(float)x;
        case MDIST_FLOAT16:
            return round_digits(x, 11, -24, 65504);
        case MDIST_BFLOAT16:
            return round_digits(x, 8, -133, 0x1.fep127);
        default:
            return x;
    }
}

static uint64_t wrapped(int32_t dtype, uint64_t whole) {
    const unsigned unused = 64 - 8 * (unsigned)mdist_dtype_size((mdist_dtype_t)dtype);
    const uint64_t high = whole << unused;
    return is_signed(dtype) ? (uint64_t)((int64_t)high >> unused) : high >> unused;
}

static Number real_number(int32_t dtype, double value) {
    return (Number){.real = rounded(dtype, value)};
}

static Number whole_number(int32_t dtype, uint64_t value) {
    return (Number){.whole = wrapped(dtype, value)};
}

Number number_of(int32_t dtype, double value) {
    return is_integer(dtype) ? whole_number(dtype, (uint64_t)(int64_t)value) : real_number(dtype, value);
}

int64_t index_at(const Tensor *indices, uint64_t i) {
    return (int64_t)indices->numbers[i].whole;
}

Tensor make_tensor(int32_t dtype, int32_t rank, const uint64_t *shape) {
    Tensor tensor = {.dtype = dtype, .rank = rank, .elements = 1};
    for (int32_t d = 0; d < rank; ++d) tensor.elements *= tensor.shape[d] = shape[d];
    tensor.numbers = take_memory(tensor.elements * sizeof *tensor.numbers);
    return tensor;
}

int alike_but(const Tensor *a, const Tensor *b, int32_t free) {
    if (a->rank != b->rank) return 0;
    for (int32_t d = 0; d < a->rank; ++d)
        if (d != free && a->shape[d] != b->shape[d]) return 0;
    return 1;
}

int same_shape(const Tensor *a, const Tensor *b) {
    return alike_but(a, b, -1);
}

static int is_zero(int32_t dtype, Number number) {
    return is_integer(dtype) ? number.whole == 0 : number.real == 0;
}

int any_zero(const Tensor *tensor) {
    for (uint64_t i = 0; i < tensor->elements; ++i)
        if (is_zero(tensor->dtype, tensor->numbers[i])) return 1;
    return 0;
}

uint64_t row_elements(const Tensor *tensor) {
    uint64_t elements = 1;
    for (int32_t d = 1; d < tensor->rank; ++d) elements *= tensor->shape[d];
    return elements;
}

// ---- Reducing.

/// Returns NaN if any of the two is NaN. -0 is below +0.
static double smaller(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static Number combine(int32_t op, int32_t dtype, Number a, Number b) {
    if (is_integer(dtype)) {
        const int less = is_signed(dtype) ? (int64_t)a.whole < (int64_t)b.whole : a.whole < b.whole;
        if (op == MDIST_MIN) return less ? a : b;
        if (op == MDIST_MAX) return less ? b : a;
        if (op == MDIST_AND) return (Number){.whole = a.whole & b.whole};
        if (op == MDIST_OR) return (Number){.whole = a.whole | b.whole};
        if (op == MDIST_XOR) return (Number){.whole = a.whole ^ b.whole};
        return whole_number(dtype, op == MDIST_PROD ? a.whole * b.whole : a.whole + b.whole);
    }
    if (op == MDIST_MIN) return (Number){.real = smaller(a.real, b.real)};
    if (op == MDIST_MAX) return (Number){.real = -smaller(-a.real, -b.real)};
    return real_number(dtype, op == MDIST_PROD ? a.real * b.real : a.real + b.real);
}

/// Returns 0 or 1 for a bool, whose other bytes count as true, and any other number as it is.
static Number as_reduced(int32_t dtype, Number number) {
    if (dtype == MDIST_BOOL) number.whole = number.whole != 0;
    return number;
}

/// sum(lo, hi) is the leaf if there is one, else it splits at lo plus the largest power of two below hi - lo.
static Number fold_tree(int32_t op, int32_t dtype, const Number *leaves, uint32_t count) {
    if (count == 1) return leaves[0];
    uint32_t half = 1;
    while (2 * half < count) half *= 2;
    return combine(op, dtype, fold_tree(op, dtype, leaves, half), fold_tree(op, dtype, leaves + half, count - half));
}

static Tensor reduce_storing_sums(int32_t op, const Tensor *tensors, uint32_t count, int stores_sum) {
    const int32_t dtype = tensors[0].dtype, within = reduced_in(dtype);
    Tensor out = make_tensor(dtype, tensors[0].rank, tensors[0].shape);
    for (uint64_t i = 0; i < out.elements; ++i) {
        Number leaves[MOST_REPLICAS];
        for (uint32_t t = 0; t < count; ++t) leaves[t] = as_reduced(dtype, tensors[t].numbers[i]);
        Number total = fold_tree(op, within, leaves, count);
        if (stores_sum && !is_integer(dtype)) total = real_number(dtype, total.real);
        out.numbers[i] = is_integer(dtype)  ? total
                         : op == MDIST_MEAN ? real_number(dtype, rounded(within, total.real / count))
                                            : real_number(dtype, total.real);
    }
    return out;
}

Tensor reduce_tensors(int32_t op, const Tensor *tensors, uint32_t count) {
    return reduce_storing_sums(op, tensors, count, 0);
}

Tensor reduce_tensors_by_nccl(int32_t op, const Tensor *tensors, uint32_t count) {
    return reduce_storing_sums(op, tensors, count, 1);
}

/// Returns the number that changes nothing when reduced with another.
static Number neutral(int32_t op, int32_t dtype) {
    const unsigned bits = 8 * (unsigned)mdist_dtype_size((mdist_dtype_t)dtype);
    const uint64_t most = UINT64_MAX >> (64 - bits), most_signed = most >> 1;
    if (!is_integer(dtype))
        return (Number){.real = op == MDIST_MIN ? INFINITY : op == MDIST_MAX ? -INFINITY : op == MDIST_PROD};
    if (dtype == MDIST_BOOL) return (Number){.whole = op == MDIST_MIN || op == MDIST_AND};
    if (op == MDIST_AND) return (Number){.whole = UINT64_MAX};
    if (op == MDIST_MIN) return (Number){.whole = is_signed(dtype) ? most_signed : most};
    if (op == MDIST_MAX) return (Number){.whole = is_signed(dtype) ? ~most_signed : 0};
    return (Number){.whole = op == MDIST_PROD};
}

/// Returns where element `at` of a tensor goes when the marked dimensions are dropped.
static uint64_t kept_place(const Tensor *tensor, uint64_t at, const int *over) {
    uint64_t place = 0, stride = 1;
    for (int32_t d = tensor->rank - 1; d >= 0; --d) {
        if (!over[d]) {
            place += at % tensor->shape[d] * stride;
            stride *= tensor->shape[d];
        }
        at /= tensor->shape[d];
    }
    return place;
}

Tensor reduce_dimensions(int32_t op, const Tensor *tensors, uint32_t count, const int *over) {
    const int32_t dtype = tensors[0].dtype;
    const int32_t within = !is_integer(dtype) ? MDIST_FLOAT64 : is_signed(dtype) ? MDIST_INT64 : MDIST_UINT64;
    uint64_t shape[MOST_DIMENSIONS], entered = 0;
    int32_t rank = 0;
    for (int32_t d = 0; d < tensors[0].rank; ++d)
        if (!over[d]) shape[rank++] = tensors[0].shape[d];
    Tensor folded[MOST_REPLICAS];
    for (uint32_t t = 0; t < count; ++t) {
        const Tensor *const tensor = &tensors[t];
        folded[t] = make_tensor(within, rank, shape);
        for (uint64_t i = 0; i < folded[t].elements; ++i) folded[t].numbers[i] = neutral(op, dtype);
        for (uint64_t i = 0; i < tensor->elements; ++i) {
            Number *const into = &folded[t].numbers[kept_place(tensor, i, over)];
            *into = combine(op, within, *into, as_reduced(dtype, tensor->numbers[i]));
        }
        uint64_t each = 1;
        for (int32_t d = 0; d < tensor->rank; ++d) each *= over[d] ? tensor->shape[d] : 1;
        entered += each;
    }
    const int mean = op == MDIST_MEAN;
    Tensor out = make_tensor(mean && is_integer(dtype) ? MDIST_FLOAT64 : dtype, rank, shape);
    for (uint64_t i = 0; i < out.elements; ++i) {
        Number leaves[MOST_REPLICAS];
        for (uint32_t t = 0; t < count; ++t) leaves[t] = folded[t].numbers[i];
        const Number total = fold_tree(op, within, leaves, count);
        const double real = !is_integer(dtype) ? total.real
                            : is_signed(dtype) ? (double)(int64_t)total.whole
                                               : (double)total.whole;
        out.numbers[i] = mean                ? real_number(out.dtype, real / (double)entered)
                         : is_integer(dtype) ? whole_number(dtype, total.whole)
                                             : real_number(dtype, real);
    }
    return out;
}

Tensor join_tensors(const Tensor *tensors, uint32_t count, int32_t dimension) {
    uint64_t shape[MOST_DIMENSIONS], outer = 1, inner = 1;
    memcpy(shape, tensors[0].shape, sizeof shape);
    shape[dimension] = 0;
    for (uint32_t t = 0; t < count; ++t) shape[dimension] += tensors[t].shape[dimension];
    for (int32_t d = 0; d < dimension; ++d) outer *= shape[d];
    for (int32_t d = dimension + 1; d < tensors[0].rank; ++d) inner *= shape[d];
    Tensor out = make_tensor(tensors[0].dtype, tensors[0].rank, shape);
    uint64_t to = 0;
    for (uint64_t o = 0; o < outer; ++o)
        for (uint32_t t = 0; t < count; ++t) {
            const uint64_t run = tensors[t].shape[dimension] * inner;
            for (uint64_t i = 0; i < run; ++i) out.numbers[to++] = tensors[t].numbers[o * run + i];
        }
    return out;
}

Tensor flattened(const Tensor *tensor) {
    Tensor out = *tensor;
    out.rank = 1;
    out.shape[0] = tensor->elements;
    return out;
}

Tensor part_of(const Tensor *tensor, uint64_t begin, uint64_t count) {
    Tensor out = *tensor;
    out.elements = out.shape[0] = count;
    out.numbers += begin;
    return out;
}

// ---- Writing.

static Number written(int32_t assign, int32_t dtype, Number copy, Number number) {
    const int32_t within = reduced_in(dtype);
    const int32_t ops[] = {[MDIST_ASSIGN_ADD] = MDIST_SUM,
                           [MDIST_ASSIGN_MUL] = MDIST_PROD,
                           [MDIST_ASSIGN_MIN] = MDIST_MIN,
                           [MDIST_ASSIGN_MAX] = MDIST_MAX};
    if (assign == MDIST_ASSIGN_SET) return number;
    if (is_integer(dtype)) {
        const int64_t a = (int64_t)copy.whole, b = (int64_t)number.whole;
        if (assign == MDIST_ASSIGN_SUB) return whole_number(dtype, copy.whole - number.whole);
        if (assign == MDIST_ASSIGN_DIV && is_signed(dtype))
            return whole_number(dtype, b == -1 ? 0 - copy.whole : (uint64_t)(a / b));
        if (assign == MDIST_ASSIGN_DIV) return whole_number(dtype, copy.whole / number.whole);
        return combine(ops[assign], dtype, as_reduced(dtype, copy), as_reduced(dtype, number));
    }
    const Number result = assign == MDIST_ASSIGN_SUB   ? real_number(within, copy.real - number.real)
                          : assign == MDIST_ASSIGN_DIV ? real_number(within, copy.real / number.real)
                                                       : combine(ops[assign], within, copy, number);
    return real_number(dtype, result.real);
}

Tensor write_tensor(int32_t assign, const Tensor *copy, const Tensor *tensor) {
    Tensor out = make_tensor(copy->dtype, copy->rank, copy->shape);
    for (uint64_t i = 0; i < out.elements; ++i)
        out.numbers[i] = written(assign, copy->dtype, copy->numbers[i], tensor->numbers[i]);
    return out;
}

Tensor write_rows(int32_t assign, const Tensor *copy, const Tensor *indices, const Tensor *rows) {
    Tensor out = make_tensor(copy->dtype, copy->rank, copy->shape);
    memcpy(out.numbers, copy->numbers, out.elements * sizeof *out.numbers);
    const uint64_t width = row_elements(copy);
    for (uint64_t row = 0; row < indices->elements; ++row) {
        Number *const to = out.numbers + (uint64_t)index_at(indices, row) * width;
        for (uint64_t i = 0; i < width; ++i)
            to[i] = written(assign, copy->dtype, to[i], rows->numbers[row * width + i]);
    }
    return out;
}

Tensor divide_tensor(const Tensor *tensor, uint32_t by) {
    Tensor out = make_tensor(tensor->dtype, tensor->rank, tensor->shape);
    const int32_t dtype = out.dtype;
    for (uint64_t i = 0; i < out.elements; ++i) {
        const Number number = tensor->numbers[i];
        out.numbers[i] = !is_integer(dtype) ? real_number(dtype, rounded(reduced_in(dtype), number.real / by))
                         : is_signed(dtype) ? whole_number(dtype, (uint64_t)((int64_t)number.whole / (int64_t)by))
                                            : whole_number(dtype, number.whole / by);
    }
    return out;
}

// ---- The library's bytes.

static uint16_t half_bits(double x) {
    if (isnan(x)) return 0x7e00;
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isinf(x)) return sign | 0x7c00;
    if (fabs(x) < 0x1p-14) return (uint16_t)(sign | (int)ldexp(fabs(x), 24));
    int exponent;
    const double fraction = frexp(fabs(x), &exponent); // in [0.5, 1)
    return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)ldexp(fraction, 11) - 1024));
}

void encode_tensor(const Tensor *tensor, void *bytes) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)tensor->dtype);
    for (uint64_t i = 0; i < tensor->elements; ++i) {
        const Number number = tensor->numbers[i];
        union {
            uint64_t whole; // little-endian: its first bytes are those of narrower integers
            float single;
            double real;
            uint16_t half;
        } bits = {.whole = number.whole};
        if (tensor->dtype == MDIST_FLOAT64) bits.real = isnan(number.real) ? (double)NAN : number.real;
        if (tensor->dtype == MDIST_FLOAT32 || tensor->dtype == MDIST_BFLOAT16)
            bits.single = isnan(number.real) ? NAN : (float)number.real;
        if (tensor->dtype == MDIST_BFLOAT16) bits.whole = (bits.whole & 0xffffffff) >> 16;
        if (tensor->dtype == MDIST_FLOAT16) bits.half = half_bits(number.real);
        memcpy((char *)bytes + i * size, &bits, size);
    }
}

int tensor_is(const Tensor *wanted, const mdist_tensor_t *seen) {
    if (seen->dtype != wanted->dtype || seen->rank != wanted->rank) return 0;
    for (int32_t d = 0; d < wanted->rank; ++d)
        if (seen->shape[d] != wanted->shape[d]) return 0;
    if (wanted->elements == 0 || wanted->dtype == 0) return 1;
    char bytes[MOST_ELEMENTS * sizeof(Number)];
    encode_tensor(wanted, bytes);
    return memcmp(bytes, seen->data, wanted->elements * mdist_dtype_size((mdist_dtype_t)wanted->dtype)) == 0;
}
