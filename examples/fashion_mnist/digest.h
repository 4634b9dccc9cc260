// SPDX-License-Identifier: Apache-2.0
// Digest: 64-bit FNV-1a of bytes, to see at a glance whether two runs ended with the same bits. Start with
// DIGEST_START, and add piece by piece.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_START 0xcbf29ce484222325u

uint64_t digest_add(uint64_t digest, const void *bytes, size_t size);
