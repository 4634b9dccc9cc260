// SPDX-License-Identifier: Apache-2.0
// Shortage: makes the library's n-th request for memory, a thread or a socket's address fail. The test's own definitions of malloc's
// family, pthread_create and getsockname come before the C library's, for the shared library too.
//
// Requests are counted while a shortage is on, on all threads or on one. One that fails is the n-th alone, or with
// `for_good` all from the n-th on. Start and stop it from one thread, outside of any library call.
#pragma once

#include <stdint.h>

typedef enum ShortOf {
    SHORT_OF_MEMORY,
    SHORT_OF_MEMORY_HERE, // on the thread that starts the shortage; others get all
    SHORT_OF_THREADS,
    SHORT_OF_ADDRESSES // of sockets: getsockname
} ShortOf;

/// The `nth` request from now on fails, counted from 1.
void shortage_start(ShortOf what, uint64_t nth, int for_good);
/// Requests that failed since the start.
uint64_t shortage_stop(void);
