// SPDX-License-Identifier: Apache-2.0
#include "moments.h"

#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct Moment {
    atomic_uint_fast64_t at; // the number of the call; 0: not awaited
    sem_t has_come;
    void (*then)(void *data);
    void *data;
} Moment;

static Moment moments[MOST_MOMENTS];
static atomic_int moment_count;
static atomic_uint_fast64_t calls;

static void come(Moment *self, uint64_t now) {
    uint_fast64_t at = atomic_load(&self->at);
    if (at == 0 || now < at || !atomic_compare_exchange_strong(&self->at, &at, 0)) return;
    sem_post(&self->has_come);
}

static void count_call(void) {
    const uint64_t now = atomic_fetch_add(&calls, 1) + 1;
    const int count = atomic_load(&moment_count);
    for (int i = 0; i < count; ++i) come(&moments[i], now);
}

static void *wait_for_it(void *data) {
    Moment *const self = data;
    while (sem_wait(&self->has_come) != 0) {
    }
    self->then(self->data);
    return NULL;
}

int at_moment(uint64_t more, void (*then)(void *data), void *data, pthread_t *thread) {
    pthread_t own;
    const int number = atomic_load(&moment_count); // one thread sets them
    if (number == MOST_MOMENTS) return -1;
    Moment *const self = &moments[number];
    self->then = then;
    self->data = data;
    if (sem_init(&self->has_come, 0, 0) != 0 || pthread_create(&own, NULL, wait_for_it, self) != 0) return -1;
    if (thread != NULL) *thread = own;
    if (thread == NULL) pthread_detach(own);
    atomic_store(&self->at, atomic_load(&calls) + (more != 0 ? more : 1));
    atomic_store(&moment_count, number + 1);
    return number;
}

void come_now(int moment) {
    if (moment >= 0) come(&moments[moment], UINT64_MAX);
}

// ---- The calls. They are weak: a test may have its own.

#define OURS __attribute__((weak, visibility("default")))

static void *look_up(_Atomic(void *) *place, const char *name) {
    void *found = atomic_load(place);
    if (found == NULL) atomic_store(place, found = dlsym(RTLD_NEXT, name));
    return found;
}

/// Counts the call, and returns the system's function.
#define REAL(name)                                 \
    __extension__({                                \
        static _Atomic(void *) place;              \
        count_call();                              \
        (__typeof__(&name))look_up(&place, #name); \
    })

OURS ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    return REAL(sendmsg)(socket, message, flags);
}

OURS ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
    return REAL(recvmsg)(socket, message, flags);
}

OURS ssize_t send(int socket, const void *bytes, size_t count, int flags) {
    return REAL(send)(socket, bytes, count, flags);
}

OURS ssize_t recv(int socket, void *bytes, size_t count, int flags) {
    return REAL(recv)(socket, bytes, count, flags);
}

OURS int poll(struct pollfd *files, nfds_t count, int timeout_ms) {
    return REAL(poll)(files, count, timeout_ms);
}

OURS int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    return REAL(ppoll)(files, count, timeout, mask);
}

OURS int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms) {
    return REAL(epoll_wait)(epoll, events, most, timeout_ms);
}

/// By this, the library sleeps and wakes. Reads as many arguments as any call has, like the system's function: the sanitizer
/// must not look at what callers did not pass.
__attribute__((no_sanitize("address"))) OURS long syscall(long number, ...) {
    long given[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; ++i) given[i] = va_arg(more, long);
    va_end(more);
    return REAL(syscall)(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
