// SPDX-License-Identifier: Apache-2.0
// Random moments in a test are numbers of events, not times: so many calls of the system for sockets, for sleeping and
// for waking, by this process. A seed then repeats the moment, on a busy machine, too. Any thread.
//
// moments.c stands between the library and the system. Link it into the program with --export-dynamic, or preload it.
#pragma once

#include <pthread.h>
#include <stdint.h>

/// Starts a thread that calls `then(data)` once there are `calls` more of these calls, while the others go on. It must
/// be joined if `thread` is not NULL. At most MOST_MOMENTS at a time. Returns the number of the moment, or -1 if no
/// thread could be started.
enum { MOST_MOMENTS = 8 };
int at_moment(uint64_t calls, void (*then)(void *data), void *data, pthread_t *thread);

/// Has the moment come now, if it has not yet.
void come_now(int moment);
