// SPDX-License-Identifier: Apache-2.0
// Own declarations of DLPack, a producer of DLPack tensors that counts how often they are deleted, and functions that
// handle both layouts.
#pragma once

#include "mdist_test.h"

typedef struct DlTensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DlTensor;

typedef struct DlLegacy {
    DlTensor tensor;
    void *manager_ctx;
    void (*deleter)(struct DlLegacy *self);
} DlLegacy;

typedef struct DlVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DlVersioned *self);
    uint64_t flags;
    DlTensor tensor;
} DlVersioned;

typedef enum DlLayout { LEGACY = 0, VERSIONED = 1 } DlLayout;
enum { LAYOUTS = 2, DL_DTYPES = 13 };

/// DLPack's code and bits of each element type, by mdist_dtype_t.
static const struct {
    uint8_t code, bits;
} dl_types[DL_DTYPES + 1] = {{0, 0},  {2, 32}, {2, 64}, {2, 16}, {4, 16}, {0, 8},  {1, 8},
                             {0, 32}, {1, 32}, {0, 64}, {1, 64}, {0, 16}, {1, 16}, {6, 8}};

/// A tensor of another library, in one of the layouts.
typedef struct Theirs {
    DlLayout layout;
    DlLegacy legacy;
    DlVersioned versioned;
    int64_t shape[MDIST_MAX_RANK + 1], strides[MDIST_MAX_RANK + 1];
    int deleted; // changed atomically by any thread
} Theirs;

MDIST_TEST_HELPER void delete_legacy(DlLegacy *self) {
    __atomic_add_fetch(&((Theirs *)self->manager_ctx)->deleted, 1, __ATOMIC_SEQ_CST);
}

MDIST_TEST_HELPER void delete_versioned(DlVersioned *self) {
    __atomic_add_fetch(&((Theirs *)self->manager_ctx)->deleted, 1, __ATOMIC_SEQ_CST);
}

MDIST_TEST_HELPER DlTensor *inside(Theirs *theirs) {
    return theirs->layout == LEGACY ? &theirs->legacy.tensor : &theirs->versioned.tensor;
}

/// Fills in `theirs`, which must not be moved afterwards. Strides are NULL.
MDIST_TEST_HELPER void describe(Theirs *theirs, DlLayout layout, void *data, int32_t dtype, int32_t rank,
                                const int64_t *shape) {
    memset(theirs, 0, sizeof *theirs);
    theirs->layout = layout;
    theirs->legacy.manager_ctx = theirs->versioned.manager_ctx = theirs;
    theirs->legacy.deleter = delete_legacy;
    theirs->versioned.deleter = delete_versioned;
    theirs->versioned.major = 1;
    for (int32_t i = 0; i < rank; ++i) theirs->shape[i] = shape[i];
    DlTensor *const tensor = inside(theirs);
    tensor->data = data;
    tensor->device_type = 1;
    tensor->ndim = rank;
    tensor->code = dl_types[dtype].code;
    tensor->bits = dl_types[dtype].bits;
    tensor->lanes = 1;
    tensor->shape = theirs->shape;
}

MDIST_TEST_HELPER void set_strides(Theirs *theirs, const int64_t *strides) {
    for (int32_t i = 0; i < inside(theirs)->ndim; ++i) theirs->strides[i] = strides[i];
    inside(theirs)->strides = theirs->strides;
}

MDIST_TEST_HELPER mdist_dlpack_t in_layout(DlLayout layout, DlLegacy *legacy, DlVersioned *versioned) {
    mdist_dlpack_t managed = {NULL, NULL};
    if (layout == LEGACY) managed.plain = (struct DLManagedTensor *)legacy;
    if (layout == VERSIONED) managed.versioned = (struct DLManagedTensorVersioned *)versioned;
    return managed;
}

MDIST_TEST_HELPER mdist_status_t take_in(Theirs *theirs, mdist_value_t **out, mdist_error_t **error) {
    const mdist_dlpack_t managed = in_layout(theirs->layout, &theirs->legacy, &theirs->versioned);
    return mdist_value_from_dlpack(&managed, out, error);
}

/// A tensor that the library gave out.
typedef struct Ours {
    DlLayout layout;
    mdist_dlpack_t managed;
    const DlTensor *tensor;
} Ours;

MDIST_TEST_HELPER mdist_status_t give_out(const mdist_value_t *value, size_t index, DlLayout layout, Ours *out,
                                          mdist_error_t **error) {
    memset(out, 0, sizeof *out);
    out->layout = layout;
    const mdist_status_t status = mdist_value_to_dlpack(value, index, layout == LEGACY ? 0 : 1, &out->managed, error);
    if (status == MDIST_OK)
        out->tensor = layout == LEGACY ? &((DlLegacy *)out->managed.plain)->tensor
                                       : &((DlVersioned *)out->managed.versioned)->tensor;
    return status;
}

MDIST_TEST_HELPER void delete_ours(const Ours *ours) {
    if (ours->managed.plain != NULL) ((DlLegacy *)ours->managed.plain)->deleter((DlLegacy *)ours->managed.plain);
    if (ours->managed.versioned != NULL)
        ((DlVersioned *)ours->managed.versioned)->deleter((DlVersioned *)ours->managed.versioned);
}

/// Computes the strides of a dense, row-major tensor. A dimension of 0 counts as 1.
MDIST_TEST_HELPER void dense_strides(const int64_t *shape, int32_t rank, int64_t *strides) {
    for (int32_t i = 0; i < rank; ++i) {
        strides[i] = 1;
        for (int32_t inner = i + 1; inner < rank; ++inner) strides[i] *= shape[inner] == 0 ? 1 : shape[inner];
    }
}
