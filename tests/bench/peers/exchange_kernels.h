/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of exchange.c: sums and copies of float32. "Streaming" writes past the caches, where the processor can. The
 * buffers are aligned to cache lines.
 */
#ifndef MDIST_TEST_PEERS_EXCHANGE_KERNELS_H
#define MDIST_TEST_PEERS_EXCHANGE_KERNELS_H

#include <stddef.h>
#include <string.h>

#ifdef __AVX__
#include <immintrin.h>
typedef __m256 wide_t;
static inline wide_t load(const float *at) {
    return _mm256_load_ps(at);
}
static inline wide_t add(wide_t left, wide_t right) {
    return _mm256_add_ps(left, right);
}
static inline void stream(float *at, wide_t value) {
    _mm256_stream_ps(at, value);
}
static inline void streams_end(void) {
    _mm_sfence();
}
#else
typedef float wide_t __attribute__((vector_size(32)));
static inline wide_t load(const float *at) {
    return *(const wide_t *)at;
}
static inline wide_t add(wide_t left, wide_t right) {
    return left + right;
}
static inline void stream(float *at, wide_t value) {
    *(wide_t *)at = value;
}
static inline void streams_end(void) {}
#endif

enum { kWide = sizeof(wide_t) / sizeof(float) };

/// Returns how many elements the streaming kernels do; the plain ones do the rest.
static inline size_t wide_part(size_t elements) {
    return elements / kWide * kWide;
}

static inline void copy(float *restrict to, const float *restrict from, size_t elements, int streaming) {
    const size_t wide = streaming ? wide_part(elements) : 0;
    for (size_t i = 0; i < wide; i += kWide) stream(to + i, load(from + i));
    memcpy(to + wide, from + wide, (elements - wide) * sizeof(float));
}

/// parts[0] += the others. `count` is at least 1.
static inline void sum_to_first(float *const *parts, int count, size_t elements) {
    float *restrict a = parts[0];
    int done = 1;
    for (; count - done >= 3; done += 3) {
        const float *restrict b = parts[done], *restrict c = parts[done + 1], *restrict d = parts[done + 2];
        for (size_t i = 0; i < elements; ++i) a[i] = (a[i] + b[i]) + (c[i] + d[i]);
    }
    if (count - done == 2) {
        const float *restrict b = parts[done], *restrict c = parts[done + 1];
        for (size_t i = 0; i < elements; ++i) a[i] += b[i] + c[i];
    } else if (count - done == 1) {
        const float *restrict b = parts[done];
        for (size_t i = 0; i < elements; ++i) a[i] += b[i];
    }
}

static inline void sum_two_to_both(float *restrict a, float *restrict b, size_t elements) {
    for (size_t i = 0; i < elements; ++i) a[i] = b[i] = a[i] + b[i];
}

static inline void sum_four_to_all(float *restrict a, float *restrict b, float *restrict c, float *restrict d,
                                   size_t elements) {
    for (size_t i = 0; i < elements; ++i) a[i] = b[i] = c[i] = d[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

static inline void stream_to_all(float *const *parts, int count, size_t elements) {
    for (size_t i = 0; i < elements; i += kWide) {
        wide_t sum = load(parts[0] + i);
        for (int k = 1; k < count; ++k) sum = add(sum, load(parts[k] + i));
        for (int k = 0; k < count; ++k) stream(parts[k] + i, sum);
    }
}

/// All parts become their sum.
static inline void sum_to_all(float *const *parts, int count, size_t elements, int streaming) {
    const size_t wide = streaming ? wide_part(elements) : 0;
    if (wide > 0) stream_to_all(parts, count, wide);
    const size_t rest = elements - wide;
    if (count == 2) {
        sum_two_to_both(parts[0] + wide, parts[1] + wide, rest);
    } else if (count == 4) {
        sum_four_to_all(parts[0] + wide, parts[1] + wide, parts[2] + wide, parts[3] + wide, rest);
    } else {
        for (size_t i = wide; i < elements; ++i) {
            float sum = parts[0][i];
            for (int k = 1; k < count; ++k) sum += parts[k][i];
            for (int k = 0; k < count; ++k) parts[k][i] = sum;
        }
    }
}

#endif
