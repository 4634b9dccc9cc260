/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tensor: a typed piece of memory, described by plain structs that own nothing.
 *
 * Example:
 *
 *     float numbers[6] = {1, 2, 3, 4, 5, 6};
 *     const uint64_t shape[2] = {2, 3};
 *     mdist_tensor_t matrix;
 *     mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 2, &matrix, &error);
 *     assert(mdist_tensor_elements(&matrix) == 6);
 *     const mdist_buffer_t buffer = {numbers, 6, MDIST_FLOAT32, 0}; // the same memory, without a shape
 *
 * `mdist_buffer_t` is an address, a count and a type. Raw collectives need no more. `mdist_tensor_t` adds the shape.
 * Both are used in arrays, so their layout never changes. Memory is dense and row-major (the last dimension varies
 * fastest).
 */
#ifndef MDIST_TENSOR_H
#define MDIST_TENSOR_H

#include <mdist/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. 0 is none of them, so that the library notices a forgotten field. */
typedef enum mdist_dtype {
    MDIST_DTYPE_NONE      = 0, /* only in outputs that describe no tensor; never accepted */
    MDIST_FLOAT32         = 1,
    MDIST_FLOAT64         = 2,
    MDIST_FLOAT16         = 3, /* IEEE binary16; summed in float32 */
    MDIST_BFLOAT16        = 4, /* upper half of a float32; summed in float32 */
    MDIST_INT8            = 5, /* integer sums and products wrap around */
    MDIST_UINT8           = 6,
    MDIST_INT32           = 7,
    MDIST_UINT32          = 8,
    MDIST_INT64           = 9,
    MDIST_UINT64          = 10,
    MDIST_INT16           = 11,
    MDIST_UINT16          = 12,
    MDIST_BOOL            = 13, /* one byte: 0 is false, any other is true; reductions give 0 or 1 */
    MDIST_DTYPE_PIN_INT32 = -0x7fffffff - 1
} mdist_dtype_t;

/** The kind of device that memory lies on. */
typedef enum mdist_device_kind {
    MDIST_DEVICE_CPU       = 0,
    MDIST_DEVICE_GPU       = 1,
    MDIST_DEVICE_PIN_INT32 = -0x7fffffff - 1
} mdist_device_kind_t;

#define MDIST_MAX_RANK 8

/** A run of elements of one type. It may start at any address; 64-byte aligned addresses are fastest. */
typedef struct mdist_buffer {
    void    *data;     /* may be NULL if elements is 0 */
    uint64_t elements;
    int32_t  dtype;    /* mdist_dtype_t */
    int32_t  reserved; /* 0, or what mdist_buffer_from_dlpack has written */
} mdist_buffer_t;

/** A dense array of 0 (a scalar) to MDIST_MAX_RANK dimensions. */
typedef struct mdist_tensor {
    void    *data;                  /* may be NULL if a dimension is 0 */
    int32_t  dtype;                 /* mdist_dtype_t */
    int32_t  rank;                  /* number of dimensions in use */
    int32_t  device_kind;           /* mdist_device_kind_t */
    int32_t  device_index;          /* i of `gpu:i`; 0 for the CPU */
    uint64_t shape[8];              /* the library ignores entries from `rank` on, and writes 0 there */
} mdist_tensor_t;

/**
 * Returns the size of one element in bytes; 0 for a number that is no type.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_dtype_size(mdist_dtype_t dtype);

/**
 * Returns the name of a type, such as "float32" or "bfloat16"; "?" for a number that is no type.
 *
 * The text is static.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_dtype_name(mdist_dtype_t dtype);

/**
 * Fills @p out with a description of the memory at @p data, on the host or on a GPU. The library finds out which.
 *
 * It checks the type, the rank, and that the size in bytes fits. Without data the first dimension may be
 * MDIST_UNKNOWN_LENGTH, for mdist_dataset_map.
 * @param data   may be NULL: to be filled in later, or zeros where a function says so. Cast away const for memory that
 *               is only read.
 * @param shape  @p rank dimensions; may be NULL for a scalar
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_tensor_describe(void *data, mdist_dtype_t dtype, const uint64_t *shape, size_t rank,
                                               mdist_tensor_t *out, mdist_error_t **error);

/**
 * Returns the number of elements, the product of the dimensions (1 for a scalar).
 *
 * It returns 0 for NULL and for a tensor that mdist_tensor_describe would refuse.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint64_t mdist_tensor_elements(const mdist_tensor_t *tensor);

#ifdef __cplusplus
}
#endif

#endif
