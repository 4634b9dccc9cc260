// SPDX-License-Identifier: Apache-2.0
// Decides where the tensors of a performance lie. It is the host or, for replicas on GPUs, sometimes the GPU. The
// program's seed decides, the same for all replicas. All reads and writes of tensors go through here.
#pragma once

#include "perform.h"

/// Finds out where the replicas are, and allocates memory there.
void find_places(Performance *self);
void leave_places(Performance *self);

/// Sets the replica in whose step this thread is, for later reads and writes; NULL: none. Returns the previous one.
mdist_replica_t *enter_step(mdist_replica_t *replica);

/// Tells whether the operands of operation `index` of a block lie on GPUs.
int lies_on_gpus(const Performance *self, const Block *block, int index);
/// Returns memory for operand `slot` of a local replica in a block of that depth: on its GPU, or `host`.
void *operand_memory(const Performance *self, uint32_t local, int depth, int slot, int on_gpu, void *host);
/// Copies `bytes` from the host into a tensor, wherever it lies. 0 if that failed.
int write_tensor_bytes(const mdist_tensor_t *to, const void *bytes);
/// Reads the bytes of a tensor, wherever it lies. 0 if that failed.
int read_tensor_bytes(const mdist_tensor_t *from, Bytes *bytes);

/// Converts a destination such as "cpu:1" to the name of this strategy's device.
const char *destination_here(const Performance *self, const char *destination);
