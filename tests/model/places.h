// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a performance lie: on the host, or for replicas on GPUs sometimes there, as the program's seed
// has it, alike for all replicas. All reads and writes of tensors go through here.
#pragma once

#include "perform.h"

/// Looks where the replicas are, and takes memory there.
void find_places(Performance *self);
void leave_places(Performance *self);

/// The replica in whose step this thread is, for what reads and writes; NULL: none. Gives the one before.
mdist_replica_t *enter_step(mdist_replica_t *replica);

/// Whether the operands of operation `index` of a block lie on GPUs.
int lies_on_gpus(const Performance *self, const Block *block, int index);
/// Memory for operand `slot` of a local replica in a block of that depth: of its GPU, or `host`.
void *operand_memory(const Performance *self, uint32_t local, int depth, int slot, int on_gpu, void *host);
/// Writes what lies on the host, described alike, to a tensor wherever that lies. 0 if that failed.
int write_tensor_bytes(const mdist_tensor_t *to, const void *bytes);
/// The bytes of a tensor wherever it lies; 0 if that failed.
int read_tensor_bytes(const mdist_tensor_t *from, Bytes *bytes);

/// "cpu:1" in this strategy's words.
const char *destination_here(const Performance *self, const char *destination);
