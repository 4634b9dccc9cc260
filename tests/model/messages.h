// SPDX-License-Identifier: Apache-2.0
// Performs the messages of a program. Some are waited for at once, others when the step is about to end.
#pragma once

#include "places.h"

typedef struct Post {
    mdist_work_t *work;
    const Operation *operation;
    int receives;
    uint32_t replica;
    char *bytes; // the buffer, in the memory of the post
} Post;

/// What a replica has started and not waited for.
typedef struct Posts {
    Post posts[MOST_OPERATIONS * (MOST_REPLICAS + 1)];
    int count;
} Posts;

/// Sends what others receive from this replica, and receives from its source. `from` and `to` are its operands. If
/// receiving is left to finish_posts(), `to` gets what the model says.
mdist_status_t exchange_messages(Performance *self, mdist_replica_t *replica, const Operation *operation, int on_gpu,
                                 const mdist_buffer_t *from, const mdist_buffer_t *to, Posts *posts,
                                 mdist_error_t **error);
/// Waits for all posts, and compares what they have received with the model.
void finish_posts(Performance *self, Posts *posts);
