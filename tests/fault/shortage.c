// SPDX-License-Identifier: Apache-2.0
#include "shortage.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int active;
static ShortOf short_of;
static int for_ever, only_here;
static uint64_t fails_at;
static atomic_uint_fast64_t requests, failures;
static _Thread_local int here; // whether this thread has started a shortage
static _Thread_local int exempt; // calls out of a sanitizer's own interceptors

void shortage_start(ShortOf what, uint64_t nth, int for_good) {
    short_of = what == SHORT_OF_MEMORY_HERE ? SHORT_OF_MEMORY : what;
    only_here = what == SHORT_OF_MEMORY_HERE;
    here = 1;
    fails_at = nth;
    for_ever = for_good;
    atomic_store(&requests, 0);
    atomic_store(&failures, 0);
    atomic_store(&active, 1);
}

uint64_t shortage_stop(void) {
    atomic_store(&active, 0);
    return atomic_load(&failures);
}

static int refused(ShortOf what) {
    if (!atomic_load(&active) || short_of != what || exempt != 0 || (only_here && !here)) return 0;
    const uint64_t number = atomic_fetch_add(&requests, 1) + 1;
    if (number != fails_at && !(for_ever && number > fails_at)) return 0;
    atomic_fetch_add(&failures, 1);
    return 1;
}

#if MDIST_TEST_SANITIZED
// A sanitizer owns malloc, and what C++ allocates comes through operator new: shortage_new.cpp asks this.
int shortage_refuses_memory(void);
int shortage_refuses_memory(void) {
    return refused(SHORT_OF_MEMORY);
}
#else
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    if (refused(SHORT_OF_MEMORY)) return errno = ENOMEM, NULL;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (refused(SHORT_OF_MEMORY)) return errno = ENOMEM, NULL;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    if (refused(SHORT_OF_MEMORY)) return errno = ENOMEM, NULL;
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    if (refused(SHORT_OF_MEMORY)) return errno = ENOMEM, NULL;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (refused(SHORT_OF_MEMORY)) return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out == NULL ? ENOMEM : 0;
}
#endif

typedef int (*CreateThread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    static _Atomic(CreateThread) real;
    CreateThread create = atomic_load(&real);
    if (create == NULL) {
        exempt = 1;
        void *symbol = dlsym(RTLD_NEXT, "pthread_create");
        memcpy(&create, &symbol, sizeof create); // ISO C has no cast for it

        atomic_store(&real, create);
        exempt = 0;
    }
    if (refused(SHORT_OF_THREADS)) return EAGAIN;
    exempt = 1; // the C library's own memory for a thread
    const int result = create(thread, attributes, start, argument);
    exempt = 0;
    return result;
}

int getsockname(int socket, void *address, unsigned *length); // as the C library's, but for names of its types

int getsockname(int socket, void *address, unsigned *length) {
    if (refused(SHORT_OF_ADDRESSES)) return errno = EPERM, -1;
    return (int)syscall(SYS_getsockname, socket, address, length);
}
