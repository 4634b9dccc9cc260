// SPDX-License-Identifier: Apache-2.0
/*
 * Tensors from another library and back, without copying a byte: both sides use the same memory.
 *
 * DLPack is the layout in which NumPy, PyTorch, JAX and others pass tensors to each other. It consists of a description
 * and a function that the receiver calls when done. The other library is only simulated here, in a few lines.
 */
#include <string.h>

#include "check.h"

// Defined as in <dlpack/dlpack.h>. Include that header if you have it.
typedef struct DLDevice {
    int32_t device_type; // 1: CPU
    int32_t device_id;
} DLDevice;
typedef struct DLDataType {
    uint8_t code; // 2: floating point
    uint8_t bits;
    uint16_t lanes;
} DLDataType;
typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; // NULL: dense, row-major
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

// ---- The other library: arrays of floats, which it counts.

typedef struct Array {
    DLManagedTensor managed;
    int64_t shape[1];
    float numbers[4];
} Array;

static int arrays; // alive

static void array_delete(DLManagedTensor *managed) {
    free(managed->manager_ctx);
    --arrays;
}

static Array *array_create(const float numbers[4]) {
    Array *self = calloc(1, sizeof *self);
    if (!self) exit(1);
    ++arrays;
    self->shape[0] = 4;
    memcpy(self->numbers, numbers, sizeof self->numbers);
    self->managed = (DLManagedTensor){
        .dl_tensor = {.data = self->numbers, .device = {1, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = self->shape},
        .manager_ctx = self,
        .deleter = array_delete,
    };
    return self;
}

// ---- This program.

static const void *memory_of(const mdist_value_t *value) {
    mdist_tensor_t tensor;
    must(mdist_value_tensor(value, 0, &tensor, &problem));
    return tensor.data;
}

static int32_t twice(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_tensor_t tensor;
    float results[4];
    if (mdist_replica_argument(replica, 0, NULL, &tensor, NULL) != MDIST_OK) return 1;
    for (int i = 0; i < 4; ++i) results[i] = 2 * ((const float *)tensor.data)[i];
    tensor.data = results;
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK;
}

// Makes one of their arrays an argument of a run.
static mdist_value_t *bring_in(Array *array) {
    mdist_value_t *value = NULL;
    const mdist_dlpack_t theirs = {.plain = &array->managed};
    must(mdist_value_from_dlpack(&theirs, &value, &problem)); // from here on the library calls its deleter
    printf("in: %s memory\n", memory_of(value) == array->numbers ? "their" : "another");
    return value;
}

// Gives the run's result to the other library. It outlives the value that it was part of.
static DLManagedTensor *hand_out(mdist_value_t *value) {
    mdist_dlpack_t ours;
    must(mdist_value_to_dlpack(value, 0, 0, &ours, &problem)); // 0: the layout above, which has no version
    printf("out: %s memory\n", ours.plain->dl_tensor.data == memory_of(value) ? "our" : "another");
    mdist_value_destroy(value);
    return ours.plain;
}

int main(void) {
    mdist_strategy_t *strategy = strategy_on("cpu*2");
    mdist_value_t *argument = bring_in(array_create((const float[]){1, 2, 3, 4})), *result = NULL;
    must(mdist_run(strategy, twice, NULL,
                   &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                     .results = &result, .result_count = 1},
                   &problem));
    mdist_value_destroy(argument);
    printf("their arrays left: %d\n", arrays);

    DLManagedTensor *const managed = hand_out(result);
    const float *const numbers = managed->dl_tensor.data;
    printf("twice: %g %g %g %g\n", (double)numbers[0], (double)numbers[1], (double)numbers[2], (double)numbers[3]);
    managed->deleter(managed);
    mdist_strategy_destroy(strategy);
    return 0;
}
