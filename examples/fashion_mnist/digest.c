// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

uint64_t digest_add(uint64_t digest, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; ++i) digest = (digest ^ at[i]) * 0x100000001b3u;
    return digest;
}
