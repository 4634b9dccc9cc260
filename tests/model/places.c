// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include "../support/gpu_memory.h"

#include <stdio.h>

static _Thread_local mdist_replica_t *current_replica;

mdist_replica_t *enter_step(mdist_replica_t *replica) {
    mdist_replica_t *const before = current_replica;
    current_replica = replica;
    return before;
}

void find_places(Performance *self) {
    for (uint32_t i = 0; i < self->locals; ++i) {
        self->gpus[i] = gpu_of_replica(self->strategy, i);
        if (self->gpus[i] >= 0)
            self->gpu_memory[i] = gpu_allocate(self->gpus[i], sizeof(Bytes) * SLOTS * (DEEPEST + 2));
        if (mdist_strategy_device(self->strategy, i, self->devices[i], sizeof self->devices[i], NULL, NULL) != MDIST_OK)
            abort();
    }
}

void leave_places(Performance *self) {
    for (uint32_t i = 0; i < self->locals; ++i) gpu_release(self->gpus[i], self->gpu_memory[i]);
}

int lies_on_gpus(const Performance *self, const Block *block, int index) {
    if (self->gpus[0] < 0) return 0;
    const uint64_t mixed =
        (self->program->seed * 31 + (uint64_t)block->depth * 7 + (uint64_t)index) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed >> 40) % 3 != 0;
}

void *operand_memory(const Performance *self, uint32_t local, int depth, int slot, int on_gpu, void *host) {
    if (!on_gpu) return host;
    return (Bytes *)self->gpu_memory[local] + depth * SLOTS + slot;
}

static int copy(const mdist_tensor_t *to, const mdist_tensor_t *from) {
    const mdist_status_t status = current_replica != NULL ? mdist_replica_copy(current_replica, to, from, NULL)
                                                          : mdist_tensor_copy(to, from, NULL);
    return status == MDIST_OK;
}

int write_tensor_bytes(const mdist_tensor_t *to, const void *bytes) {
    mdist_tensor_t from = *to;
    from.data = (void *)(uintptr_t)bytes;
    from.device_kind = from.device_index = 0;
    return mdist_tensor_elements(to) == 0 || copy(to, &from);
}

int read_tensor_bytes(const mdist_tensor_t *from, Bytes *bytes) {
    if (from->dtype == 0 || mdist_tensor_elements(from) == 0) return 1;
    if (mdist_tensor_elements(from) > MOST_ELEMENTS) return 0;
    mdist_tensor_t to = *from;
    to.data = bytes->bytes;
    to.device_kind = to.device_index = 0;
    return copy(&to, from);
}

const char *destination_here(const Performance *self, const char *destination) {
    if (destination == NULL || strncmp(destination, "cpu:", 4) != 0) return destination;
    const uint32_t local = (uint32_t)(destination[4] - '0');
    return self->gpus[0] >= 0 && local < self->locals ? self->devices[local] : destination;
}
