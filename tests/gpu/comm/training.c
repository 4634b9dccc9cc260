// SPDX-License-Identifier: Apache-2.0
#include "training.h"
#include "started.h"

#include "mdist_test.h"

enum { MOST_ROWS = 32 }; // of one replica in a step

#define TRY(call)                            \
    do {                                     \
        const mdist_status_t tried = (call); \
        if (tried != MDIST_OK) return tried; \
    } while (0)

static size_t size_of(int32_t dtype) {
    return dtype == MDIST_FLOAT64 ? 8 : dtype == MDIST_FLOAT32 ? 4 : 2;
}

/// The element of a gradient, from the weight, into `to`. Draws its numbers from `state`.
static void gradient_of(const Plan *plan, int32_t dtype, const unsigned char *weight, unsigned char *to,
                        uint64_t *state) {
    const float factor = (float)((int64_t)draw(state, 2001) - 1000) / 997.0f;
    const float whole = (float)((int64_t)draw(state, 3) - 1);
    double real;
    float single;
    uint16_t half;
    uint32_t bits;
    switch (dtype) {
        case MDIST_FLOAT32:
            memcpy(&single, weight, 4);
            single = plan->exact ? whole : single * factor + factor;
            memcpy(to, &single, 4);
            return;
        case MDIST_FLOAT64:
            memcpy(&real, weight, 8);
            real = plan->exact ? (double)whole : real * (double)factor - 0.1;
            memcpy(to, &real, 8);
            return;
        case MDIST_BFLOAT16:
            memcpy(&half, weight, 2);
            bits = (uint32_t)half << 16;
            memcpy(&single, &bits, 4);
            single = plan->exact ? whole : single * factor + factor;
            memcpy(&bits, &single, 4);
            half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
            memcpy(to, &half, 2);
            return;
        default: // a float16 between 1/64 and 4, of any sign
            half = (uint16_t)((9 + draw(state, 8)) << 10 | draw(state, 1024) | draw(state, 2) << 15);
            memcpy(to, &half, 2);
    }
}

static mdist_tensor_t tensor_at(const Plan *plan, uint32_t t, void *data) {
    return tensor_of(data, (mdist_dtype_t)plan->dtypes[t], plan->elements[t]);
}

/// Computes this replica's gradients on the host, from the weights on its device, and copies them to `to`.
static int compute(mdist_replica_t *replica, Training *self, uint32_t r, uint32_t t, const mdist_tensor_t *to) {
    const Plan *const plan = &self->plan;
    uint64_t state = plan->seed + 1000 * self->step + 100 * t + mdist_replica_id(replica) + self->mixed_in[r];
    const mdist_tensor_t weights = tensor_at(plan, t, self->host[r][0]), here = tensor_at(plan, t, self->host[r][1]);
    const size_t size = size_of(plan->dtypes[t]);
    mdist_tensor_t there;
    if (mdist_variable_tensor(self->weights[t], r, &there, &self->errors[r]) != MDIST_OK ||
        mdist_replica_copy(replica, &weights, &there, &self->errors[r]) != MDIST_OK)
        return 1;
    for (size_t i = 0; i < plan->elements[t]; ++i)
        gradient_of(plan, plan->dtypes[t], self->host[r][0] + i * size, self->host[r][1] + i * size, &state);
    return mdist_replica_copy(replica, to, &here, &self->errors[r]) != MDIST_OK;
}

/// Reduces the tensors in one of the ways. The results lie in self->out.
static mdist_status_t reduce(mdist_replica_t *replica, Training *self, uint32_t r, Way way) {
    const Plan *const plan = &self->plan;
    const mdist_reduce_op_t op = (mdist_reduce_op_t)plan->op;
    mdist_error_t **const error = &self->errors[r];
    mdist_buffer_t in[MOST_TENSORS], out[MOST_TENSORS], part[MOST_TENSORS];
    mdist_work_t *work = NULL;
    mdist_status_t status = MDIST_OK;
    int32_t done = 0;
    const uint32_t all = plan->replicas, id = mdist_replica_id(replica), root = self->step % all;
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        in[t] = buffer_of(self->in[r][t], (mdist_dtype_t)plan->dtypes[t], plan->elements[t]);
        out[t] = buffer_of(self->out[r][t], (mdist_dtype_t)plan->dtypes[t], plan->elements[t]);
        const uint64_t begin = (uint64_t)plan->elements[t] * id / all,
                       end = (uint64_t)plan->elements[t] * (id + 1) / all;
        part[t] = out[t];
        part[t].data = (char *)out[t].data + begin * size_of(plan->dtypes[t]);
        part[t].elements = end - begin;
    }
    switch (way) {
        case STARTED:
            status = start_all_reduce(replica, op, in, out, plan->tensors, &work, NULL, error);
            if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, error);
            mdist_work_destroy(work);
            return status;
        case SCATTERED:
            status = mdist_reduce_scatter(replica, op, in, part, plan->tensors, NULL, error);
            return status == MDIST_OK ? mdist_all_gather(replica, part, out, plan->tensors, NULL, error) : status;
        case ROOTED:
            status = mdist_reduce_to_root(replica, op, root, in, out, plan->tensors, NULL, error);
            return status == MDIST_OK ? mdist_broadcast(replica, root, out, plan->tensors, NULL, error) : status;
        default:
            return mdist_all_reduce(replica, op, in, out, plan->tensors, NULL, error);
    }
}

typedef struct Reduction {
    Training *training;
    uint32_t r;
    Way way;
} Reduction;

static int32_t reduce_as_told(mdist_replica_t *replica, void *user_data) {
    const Reduction *const self = user_data;
    return reduce(replica, self->training, self->r, self->way) != MDIST_OK;
}

/// The same as reduce(), by a graph if the plan says so.
static mdist_status_t reduce_somehow(mdist_replica_t *replica, Training *self, uint32_t r, Way way) {
    Reduction told = {self, r, way};
    mdist_error_t *error = NULL;
    if (!self->plan.graphs) return reduce(replica, self, r, way);
    const uint64_t key = 100 * (uint64_t)way + (way == ROOTED ? self->step % self->plan.replicas : 0);
    const mdist_status_t status = mdist_replica_graph(replica, key, reduce_as_told, &told, &error);
    if (self->errors[r] == NULL)
        self->errors[r] = error;
    else
        mdist_error_free(error);
    return status;
}

static void reach(const Training *self, uint32_t r, Point point) {
    if (self->reached != NULL) self->reached(self, r, point);
}

/// Takes this replica's rows, and moves on the state that it has of its own.
static mdist_status_t take_own(mdist_replica_t *replica, Training *self, uint32_t r) {
    const uint32_t id = mdist_replica_id(replica);
    mdist_error_t **const error = &self->errors[r];
    int64_t rows[MOST_ROWS];
    double sum = 0, seen[1];
    mdist_tensor_t there;
    self->mixed_in[r] = 0;
    if (self->input != NULL) {
        TRY(mdist_replica_argument(replica, 0, NULL, &there, error));
        mdist_tensor_t here = tensor_of(rows, MDIST_INT64, 1);
        here.shape[0] = there.shape[0]; // may be 0
        if (there.shape[0] > MOST_ROWS) return MDIST_ERR_INTERNAL;
        TRY(mdist_replica_copy(replica, &here, &there, error));
        for (uint64_t i = 0; i < there.shape[0]; ++i) sum += (double)rows[i];
        self->mixed_in[r] = 7919 * (uint64_t)sum;
    }
    if (self->seen == NULL) return MDIST_OK;
    const mdist_tensor_t here = tensor_of(seen, MDIST_FLOAT64, 1);
    self->own[id] += self->step;
    self->own[id] = draw(&self->own[id], UINT64_MAX);
    self->mixed_in[r] += self->own[id];
    TRY(mdist_variable_tensor(self->seen, r, &there, error));
    TRY(mdist_replica_copy(replica, &here, &there, error));
    seen[0] += sum + (double)id + 1;
    return mdist_replica_copy(replica, &there, &here, error);
}

static int32_t try_step(mdist_replica_t *replica, Training *self) {
    const Plan *const plan = &self->plan;
    const uint32_t r = mdist_replica_local_index(replica);
    const Way way = plan->ways[self->step];
    mdist_error_t **const error = &self->errors[r];
    mdist_tensor_t sums[MOST_TENSORS];
    reach(self, r, AT_BEGIN);
    if (take_own(replica, self, r) != MDIST_OK) return 6;
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        mdist_tensor_t own = tensor_at(plan, t, self->in[r][t]);
        sums[t] = tensor_at(plan, t, self->out[r][t]);
        if (way == GRADIENTS) {
            if (mdist_gradients_tensor(self->gradients, r, t, &own, error) != MDIST_OK) return 1;
            sums[t] = own;
        }
        if (compute(replica, self, r, t, &own) != 0) return 2;
        if (way == GRADIENTS && mdist_gradients_ready(replica, self->gradients, t, error) != MDIST_OK) return 3;
    }
    reach(self, r, AT_SUM);
    const mdist_status_t status = way == GRADIENTS ? mdist_gradients_wait(replica, self->gradients, NULL, NULL, error)
                                                   : reduce_somehow(replica, self, r, way);
    if (status != MDIST_OK) return 4;
    reach(self, r, AT_SUMMED);
    for (uint32_t t = 0; t < plan->tensors; ++t)
        if (mdist_replica_assign(replica, self->weights[t], MDIST_ASSIGN_SUB, &sums[t], NULL, error) != MDIST_OK)
            return 5;
    reach(self, r, AT_END);
    return 0;
}

static int32_t training_step(mdist_replica_t *replica, void *user_data) {
    Training *const self = user_data;
    const int32_t wrong = try_step(replica, self);
    if (wrong && self->aborts) mdist_strategy_abort(self->strategy);
    return wrong;
}

static int32_t save_own(uint32_t replica_id, void *to, size_t bytes, void *user_data) {
    Training *const self = user_data;
    if (self->saving != NULL) self->saving(self, replica_id);
    memcpy(to, &self->own[replica_id], bytes);
    return 0;
}

static int32_t restore_own(uint32_t replica_id, const void *from, size_t bytes, void *user_data) {
    Training *const self = user_data;
    if (self->restoring != NULL) self->restoring(self, replica_id);
    memcpy(&self->own[replica_id], from, bytes);
    return 0;
}

static mdist_status_t create_own(Training *self, mdist_error_t **error) {
    static double none[1];
    const mdist_tensor_t one = tensor_of(none, MDIST_FLOAT64, 1);
    const mdist_variable_options_t options = {sizeof options, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 0, NULL};
    for (uint32_t id = 0; id < MOST_HERE; ++id) self->own[id] = id + self->plan.seed;
    TRY(mdist_variable_create(self->strategy, "seen", &one, &self->seen, &options, error));
    return mdist_blob_create(self->strategy, "own", sizeof self->own[0], save_own, restore_own, self, NULL, &self->blob,
                             error);
}

/// Numbers in random order, again and again.
static mdist_status_t create_input(Training *self, mdist_error_t **error) {
    const Plan *const plan = &self->plan;
    const mdist_input_options_t options = {.struct_size = sizeof options, .fetch_to_device = plan->fetch};
    mdist_dataset_t *made[5] = {NULL};
    mdist_status_t status = mdist_dataset_range(0, plan->rows, 1, &made[0], NULL, error);
    if (status == MDIST_OK) status = mdist_dataset_shuffle(made[0], plan->shuffled, plan->seed, &made[1], NULL, error);
    if (status == MDIST_OK) status = mdist_dataset_repeat(made[1], MDIST_FOREVER, &made[2], NULL, error);
    if (status == MDIST_OK) status = mdist_dataset_batch(made[2], plan->batch, &made[3], NULL, error);
    if (status == MDIST_OK) status = mdist_distribute_dataset(self->strategy, made[3], &made[4], &options, error);
    if (status == MDIST_OK) status = mdist_iterator_create(made[4], &self->input, error);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; ++i) mdist_dataset_destroy(made[i]);
    return status;
}

static mdist_status_t create_gradients(Training *self, const mdist_tensor_t *like, mdist_error_t **error) {
    const Plan *const plan = &self->plan;
    const mdist_gradients_options_t rules = {sizeof rules, 0, plan->op, 0, 5000, plan->clip};
    mdist_tensor_t later[MOST_HERE * MOST_TENSORS];
    if (!plan->lent)
        return mdist_gradients_create(self->strategy, like, plan->tensors, &self->gradients, &rules, error);
    for (uint32_t i = 0; i < MOST_HERE * plan->tensors; ++i) later[i] = tensor_at(plan, i % plan->tensors, NULL);
    return mdist_gradients_create_lent(self->strategy, later, plan->tensors, &self->gradients, &rules, error);
}

mdist_status_t create_training(Training *self, const Plan *plan, mdist_strategy_t *strategy, mdist_error_t **error) {
    static unsigned char zeros[MOST_ELEMENTS * 8];
    const mdist_variable_options_t options = {sizeof options, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE, 0, NULL};
    mdist_tensor_t like[MOST_TENSORS];
    memset(self, 0, sizeof *self);
    self->plan = *plan;
    self->strategy = strategy;
    for (uint32_t t = 0; t < plan->tensors; ++t) {
        char name[32];
        snprintf(name, sizeof name, "weights %u", (unsigned)t);
        like[t] = tensor_at(plan, t, zeros);
        TRY(mdist_variable_create(strategy, name, &like[t], &self->weights[t], &options, error));
    }
    if (plan->own) TRY(create_own(self, error));
    if (plan->rows != 0) TRY(create_input(self, error));
    return create_gradients(self, like, error);
}

static void free_places(Training *self) {
    for (uint32_t r = 0; r < self->placed; ++r)
        for (uint32_t t = 0; t < self->plan.tensors; ++t) {
            mdist_free(self->in[r][t]);
            mdist_free(self->out[r][t]);
            self->in[r][t] = self->out[r][t] = NULL;
        }
    self->placed = 0;
}

mdist_status_t place_training(Training *self, mdist_error_t **error) {
    const Plan *const plan = &self->plan;
    free_places(self);
    const uint32_t own = mdist_strategy_local_replica_count(self->strategy);
    while (self->placed < own) {
        const uint32_t r = self->placed++;
        mdist_tensor_t lent[MOST_TENSORS];
        for (uint32_t t = 0; t < plan->tensors; ++t) {
            const size_t bytes = plan->elements[t] * size_of(plan->dtypes[t]);
            TRY(mdist_alloc(self->strategy, r, bytes, &self->in[r][t], error));
            TRY(mdist_alloc(self->strategy, r, bytes, &self->out[r][t], error));
            lent[t] = tensor_at(plan, t, self->in[r][t]);
        }
        if (plan->lent) TRY(mdist_gradients_lend(self->gradients, r, lent, plan->tensors, error));
    }
    return MDIST_OK;
}

static void forget_errors(Training *self) {
    for (uint32_t r = 0; r < MOST_HERE; ++r) {
        mdist_error_free(self->errors[r]);
        self->errors[r] = NULL;
    }
}

mdist_status_t make_step(Training *self, mdist_error_t **error) {
    mdist_value_t *element = NULL;
    forget_errors(self);
    if (self->input != NULL) TRY(mdist_iterator_next(self->input, &element, 1, error));
    const size_t arguments = self->input != NULL ? 1 : 0;
    const mdist_status_t status =
        mdist_run(self->strategy, training_step, self,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element, .argument_count = arguments}, error);
    mdist_value_destroy(element);
    return status;
}

static uint64_t hashed(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

mdist_status_t hash_training(Training *self, uint64_t *hash, mdist_error_t **error) {
    const Plan *const plan = &self->plan;
    const uint32_t own = mdist_strategy_local_replica_count(self->strategy);
    int equal = 1;
    for (uint32_t r = 0; r < own; ++r) {
        uint64_t copy = 14695981039346656037u;
        for (uint32_t t = 0; t < plan->tensors; ++t) {
            const mdist_tensor_t here = tensor_at(plan, t, self->host[0][0]);
            mdist_tensor_t there;
            TRY(mdist_variable_tensor(self->weights[t], r, &there, error));
            TRY(mdist_tensor_copy(&here, &there, error));
            copy = hashed(copy, self->host[0][0], plan->elements[t] * size_of(plan->dtypes[t]));
        }
        equal = equal && (r == 0 || copy == *hash);
        *hash = copy;
    }
    if (self->seen != NULL) {
        mdist_value_t *value;
        mdist_tensor_t sum;
        TRY(mdist_variable_read(self->seen, &value, NULL, error));
        const mdist_status_t status = mdist_value_tensor(value, 0, &sum, error);
        if (status == MDIST_OK) *hash = hashed(*hash, sum.data, sizeof(double));
        mdist_value_destroy(value);
        TRY(status);
    }
    if (!equal) *hash = 0;
    return MDIST_OK;
}

void destroy_training(Training *self) {
    forget_errors(self);
    mdist_iterator_destroy(self->input);
    mdist_gradients_destroy(self->gradients);
    mdist_blob_destroy(self->blob);
    mdist_variable_destroy(self->seen);
    for (uint32_t t = 0; t < self->plan.tensors; ++t) mdist_variable_destroy(self->weights[t]);
    free_places(self);
}
