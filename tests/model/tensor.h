// SPDX-License-Identifier: Apache-2.0
// Tensors of the model: numbers and shapes, and plain arithmetic on them.
//
// An integer is kept in 64 bits, sign or zero extended, and wraps around in its own width. A floating-point number is
// kept as the double that equals it. Sums of float32 are computed in double and rounded, which gives the same bits as
// float32 arithmetic. The 16-bit types are reduced in float32 and rounded once. Tensors never change once made. They
// live until forget_tensors().
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mdist/mdist.h>

enum { MOST_DIMENSIONS = 4, MOST_ELEMENTS = 256, MOST_REPLICAS = 7 };

typedef union Number {
    double real;
    uint64_t whole;
} Number;

typedef struct Tensor {
    int32_t dtype; // 0: no tensor
    int32_t rank;
    uint64_t shape[MOST_DIMENSIONS];
    uint64_t elements;
    Number *numbers;
} Tensor;

/// Allocates zeroed memory that lasts until forget_tensors().
void *take_memory(size_t bytes);
void forget_tensors(void);

int is_integer(int32_t dtype);
Tensor make_tensor(int32_t dtype, int32_t rank, const uint64_t *shape);
/// Converts `value` to a number of a type, rounded or wrapped around.
Number number_of(int32_t dtype, double value);
/// Returns element `i` as an index.
int64_t index_at(const Tensor *indices, uint64_t i);

int same_shape(const Tensor *a, const Tensor *b);
/// Tells whether type and shape are the same, except for dimension `free`; -1: without exception.
int alike_but(const Tensor *a, const Tensor *b, int32_t free);
int any_zero(const Tensor *tensor);
/// Returns the number of elements of one row: the product of all dimensions but the first.
uint64_t row_elements(const Tensor *tensor);

/// Reduces `count` tensors of one shape, element by element along the canonical tree. MEAN then divides by `count`.
Tensor reduce_tensors(int32_t op, const Tensor *tensors, uint32_t count);
/// The same, as NCCL does it for two replicas: the sum of a mean is stored in the tensors' type before it is divided.
/// So it overflows where a mean in float32 does not.
Tensor reduce_tensors_by_nccl(int32_t op, const Tensor *tensors, uint32_t count);
/// Reduces each tensor over the dimensions marked in `over`, then over the tensors. It works in 64 bits: row by row in
/// float64, integers in int64 or uint64. MEAN divides by the number of reduced elements, and gives float64 for
/// integers.
Tensor reduce_dimensions(int32_t op, const Tensor *tensors, uint32_t count, const int *over);
/// Joins tensors one after another along a dimension.
Tensor join_tensors(const Tensor *tensors, uint32_t count, int32_t dimension);
/// Returns the same numbers in one dimension.
Tensor flattened(const Tensor *tensor);
/// Returns elements [begin, begin + count) of a tensor of one dimension.
Tensor part_of(const Tensor *tensor, uint64_t begin, uint64_t count);

/// Returns what `copy` becomes when `tensor` is written to it: SET, ADD, SUB, MUL, DIV, MIN, MAX.
Tensor write_tensor(int32_t assign, const Tensor *copy, const Tensor *tensor);
/// Does the same for the rows that `indices` names, one after another.
Tensor write_rows(int32_t assign, const Tensor *copy, const Tensor *indices, const Tensor *rows);
/// Divides each number; integers are cut off towards zero.
Tensor divide_tensor(const Tensor *tensor, uint32_t by);

/// Writes the library's bytes, mdist_dtype_size() * elements of them. NaN becomes the canonical quiet NaN.
void encode_tensor(const Tensor *tensor, void *bytes);
/// Tells whether the library's tensor is this one, bit for bit.
int tensor_is(const Tensor *wanted, const mdist_tensor_t *seen);
