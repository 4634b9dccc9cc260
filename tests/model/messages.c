// SPDX-License-Identifier: Apache-2.0
#include "messages.h"

#include "model.h"

#include <stdlib.h>
#include <string.h>

/// Every other operation on the host sends so many copies of its tensor, one after another: more than the library keeps
/// for a receiver.
enum { COPIES = 9 };

typedef struct Exchange {
    Performance *self;
    mdist_replica_t *replica;
    const Operation *operation;
    uint32_t id;
    uint64_t copies;
    const mdist_buffer_t *from;
    Posts *posts;
    mdist_status_t status;
    mdist_error_t **error;
} Exchange;

static uint64_t tag_of(const Operation *operation) {
    return operation->index == 0 ? 0 : UINT64_MAX - (uint64_t)operation->index;
}

static int sends(const Exchange *self, uint32_t to) {
    return self->operation->sources[to] == self->id && (to != self->id || sends_to_itself(self->operation, to));
}

static int receives(const Exchange *self) {
    const Operation *const operation = self->operation;
    return operation->sources[self->id] != self->id || sends_to_itself(operation, self->id);
}

/// A buffer of a post, with the tensor's bytes `copies` times.
static mdist_buffer_t own_buffer(const Exchange *self, const Tensor *tensor, int filled) {
    Bytes one;
    const size_t bytes = tensor->elements * mdist_dtype_size((mdist_dtype_t)tensor->dtype);
    char *const data = malloc(self->copies * bytes + 1);
    if (data == NULL) abort();
    if (filled) encode_tensor(tensor, one.bytes);
    for (uint64_t i = 0; i < self->copies; ++i)
        filled ? memcpy(data + i * bytes, one.bytes, bytes) : memset(data + i * bytes, 0x5a, bytes);
    return (mdist_buffer_t){data, self->copies * tensor->elements, tensor->dtype, 0};
}

static const Tensor *tensor_of(const Exchange *self, int is_receive) {
    return is_receive ? &self->operation->results[0].leaves[0].tensors[self->id]
                      : &self->operation->inputs[0].leaves[0].tensors[self->id];
}

/// Starts a send or receive, in memory of the post or in that of `lent`.
static void start(Exchange *self, int is_receive, uint32_t other, const mdist_buffer_t *lent) {
    if (self->status != MDIST_OK) return;
    Post *const post = &self->posts->posts[self->posts->count];
    *post = (Post){.operation = self->operation, .receives = is_receive, .replica = self->id};
    const mdist_buffer_t buffer = lent != NULL ? *lent : own_buffer(self, tensor_of(self, is_receive), !is_receive);
    if (lent == NULL) post->bytes = buffer.data;
    const uint64_t tag = tag_of(self->operation);
    self->status = is_receive ? mdist_receive_start(self->replica, other, tag, &buffer, &post->work, NULL, self->error)
                              : mdist_send_start(self->replica, other, tag, &buffer, &post->work, NULL, self->error);
    if (self->status == MDIST_OK) ++self->posts->count;
}

/// The same in the blocking form.
static void call(Exchange *self, int is_receive, uint32_t other) {
    if (self->status != MDIST_OK) return;
    const Tensor *const tensor = tensor_of(self, is_receive);
    const mdist_buffer_t buffer = own_buffer(self, tensor, !is_receive);
    const uint64_t tag = tag_of(self->operation);
    self->status = is_receive ? mdist_receive(self->replica, other, tag, &buffer, NULL, self->error)
                              : mdist_send(self->replica, other, tag, &buffer, NULL, self->error);
    Post done = {.operation = self->operation, .receives = is_receive, .replica = self->id, .bytes = buffer.data};
    Posts one = {.posts = {done}, .count = 1};
    if (self->status == MDIST_OK)
        finish_posts(self->self, &one);
    else
        free(buffer.data);
}

static void send_all(Exchange *self, int starts, const mdist_buffer_t *lent) {
    for (uint32_t to = 0; to < self->self->program->layout.replicas; ++to)
        if (sends(self, to)) starts ? start(self, 0, to, lent) : call(self, 0, to);
}

static void receive_one(Exchange *self, int starts, const mdist_buffer_t *lent) {
    const uint32_t source = self->operation->sources[self->id];
    if (receives(self)) starts ? start(self, 1, source, lent) : call(self, 1, source);
}

mdist_status_t exchange_messages(Performance *self, mdist_replica_t *replica, const Operation *operation, int on_gpu,
                                 const mdist_buffer_t *from, const mdist_buffer_t *to, Posts *posts,
                                 mdist_error_t **error) {
    const uint32_t id = mdist_replica_id(replica);
    const int large = !on_gpu && operation->code / 2 % 2 != 0;
    Posts here = {.count = 0};
    Exchange exchange = {self,     replica, operation, id, large ? COPIES : 1, from, on_gpu ? &here : posts,
                         MDIST_OK, error};
    if (on_gpu) {
        if (!receives(&exchange)) { // it keeps what it has
            mdist_tensor_t out = describe(tensor_of(&exchange, 1), to->data);
            Bytes bytes;
            encode_tensor(tensor_of(&exchange, 1), bytes.bytes);
            if (!write_tensor_bytes(&out, bytes.bytes)) abort();
        }
        receive_one(&exchange, 1, to);
        send_all(&exchange, 1, from);
        finish_posts(self, &here);
        return exchange.status;
    }
    switch ((operation->code >> (2 + 2 * id)) % 4) {
        case 0: // leave them
            receive_one(&exchange, 1, NULL);
            send_all(&exchange, 1, NULL);
            break;
        case 1:
            send_all(&exchange, 1, NULL);
            receive_one(&exchange, 0, NULL);
            break;
        case 2:
            receive_one(&exchange, 1, NULL);
            send_all(&exchange, large, NULL); // the library keeps small ones
            finish_posts(self, posts);
            break;
        default:
            send_all(&exchange, large, NULL);
            receive_one(&exchange, 0, NULL);
    }
    encode_tensor(tensor_of(&exchange, 1), to->data);
    return exchange.status;
}

void finish_posts(Performance *self, Posts *posts) {
    for (int i = posts->count; i-- > 0;) {
        Post *const post = &posts->posts[i];
        mdist_error_t *error = NULL;
        int32_t done = 1;
        if (post->work != NULL) {
            const mdist_status_t status = mdist_work_wait(post->work, MDIST_FOREVER, &done, &error);
            expect_status(self, post->operation, "mdist_work_wait of a message", MDIST_OK, status, error);
            mdist_work_destroy(post->work);
        }
        const Tensor *const tensor = &post->operation->results[0].leaves[0].tensors[post->replica];
        const size_t bytes = tensor->elements * mdist_dtype_size((mdist_dtype_t)tensor->dtype);
        const int copies = post->bytes == NULL || !post->receives ? 0 : post->operation->code / 2 % 2 != 0 ? COPIES : 1;
        for (int copy = 0; copy < copies; ++copy) {
            Bytes aligned;
            memcpy(aligned.bytes, post->bytes + (size_t)copy * bytes, bytes);
            const mdist_tensor_t seen = describe(tensor, aligned.bytes);
            expect_tensor(self, post->operation, "the message", tensor, &seen);
        }
        free(post->bytes);
    }
    posts->count = 0;
}
