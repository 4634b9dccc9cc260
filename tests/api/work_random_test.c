// SPDX-License-Identifier: Apache-2.0
// Random programs of collectives. Each replica chooses how it takes part: it blocks, or it starts a work and then waits
// for it (at once or in parts), tests it, leaves it to another thread, or destroys it. The programs run on all cores,
// and on one core. The results are compared with a plain computation. In some programs one replica destroys its work at
// once. Then the operation is done on all replicas or on none.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "started.h"
#include "step_support.h"

#include <sched.h>
#include <stdatomic.h>

enum { MOST = 9, LONGEST = 10, SMALL = 40, MIDDLE = 5000, LARGE = 300000, MARGIN = 16 };

typedef enum Kind { ALL_REDUCE, IN_PLACE, BROADCAST, GATHER, SCATTER, ALL_TO_ALL, BARRIER, KINDS } Kind;
typedef enum Form { BLOCKING, WAITED, IN_BITS, TESTED, ELSEWHERE, DESTROYED, FORMS } Form;

typedef struct Program {
    uint64_t seed;
    uint32_t n;
    int length;
    Kind kinds[LONGEST];
    uint32_t elements[LONGEST]; // of an input; a multiple of n if it is cut into parts
    uint32_t roots[LONGEST];
    int fault_at;       // the operation at which it happens, or -1
    uint32_t fault_who; // the replica that destroys its work at once
    Note notes[MOST];
    int reached[MOST]; // number of operations that succeeded
} Program;

static Program *make_program(uint64_t seed) {
    Program *self = calloc(1, sizeof *self);
    assert_non_null(self);
    uint64_t state = seed;
    self->seed = seed;
    self->n = 1 + draw_from(&state, MOST);
    self->length = 1 + (int)draw_from(&state, LONGEST);
    self->fault_at = draw_from(&state, 4) == 0 ? (int)draw_from(&state, (uint32_t)self->length) : -1;
    self->fault_who = draw_from(&state, self->n);
    for (int i = 0; i < self->length; ++i) {
        const uint32_t size = draw_from(&state, 12);
        self->kinds[i] = (Kind)draw_from(&state, KINDS);
        self->elements[i] = draw_from(&state, size < 6 ? SMALL : size < 11 ? MIDDLE : LARGE);
        if (self->kinds[i] == GATHER) self->elements[i] /= self->n;
        if (self->kinds[i] == SCATTER || self->kinds[i] == ALL_TO_ALL)
            self->elements[i] = self->elements[i] / self->n * self->n;
        self->roots[i] = draw_from(&state, self->n);
    }
    return self;
}

static uint32_t element(const Program *self, int at, uint32_t replica, uint64_t i) {
    return (uint32_t)(self->seed + (uint64_t)at * 7919 + replica * 104729 + i * 31) & 0xffffff;
}

static uint64_t outputs_of(const Program *self, int at) {
    const uint64_t n = self->n, elements = self->elements[at];
    switch (self->kinds[at]) {
        case GATHER:
            return elements * n;
        case SCATTER:
            return elements / n;
        case BARRIER:
            return 0;
        default:
            return elements;
    }
}

static uint32_t expected(const Program *self, int at, uint32_t replica, uint64_t i) {
    const uint64_t elements = self->elements[at], part = elements / self->n;
    uint32_t sum = 0;
    switch (self->kinds[at]) {
        case BROADCAST:
            return element(self, at, self->roots[at], i);
        case GATHER:
            return element(self, at, (uint32_t)(i / elements), i % elements);
        case ALL_TO_ALL:
            return element(self, at, (uint32_t)(i / part), replica * part + i % part);
        default:
            if (self->kinds[at] == SCATTER) i += replica * part;
            for (uint32_t r = 0; r < self->n; ++r) sum += element(self, at, r, i);
            return sum;
    }
}

// ---- One operation of one replica.

typedef struct Part {
    const Program *program;
    mdist_replica_t *replica;
    int at;
    mdist_buffer_t in, out;
    mdist_work_t *work;
    mdist_status_t status; // of the wait on another thread
} Part;

static mdist_status_t start(Part *p, mdist_error_t **error) {
    switch (p->program->kinds[p->at]) {
        case BROADCAST:
            return start_broadcast(p->replica, p->program->roots[p->at], &p->out, 1, &p->work, NULL, error);
        case GATHER:
            return start_all_gather(p->replica, &p->in, &p->out, 1, &p->work, NULL, error);
        case SCATTER:
            return start_reduce_scatter(p->replica, MDIST_SUM, &p->in, &p->out, 1, &p->work, NULL, error);
        case ALL_TO_ALL:
            return start_all_to_all(p->replica, &p->in, &p->out, 1, &p->work, NULL, error);
        case BARRIER:
            return start_barrier(p->replica, &p->work, NULL, error);
        default:
            return start_all_reduce(p->replica, MDIST_SUM, &p->in, &p->out, 1, &p->work, NULL, error);
    }
}

static mdist_status_t block(Part *p, mdist_error_t **error) {
    switch (p->program->kinds[p->at]) {
        case BROADCAST:
            return mdist_broadcast(p->replica, p->program->roots[p->at], &p->out, 1, NULL, error);
        case GATHER:
            return mdist_all_gather(p->replica, &p->in, &p->out, 1, NULL, error);
        case SCATTER:
            return mdist_reduce_scatter(p->replica, MDIST_SUM, &p->in, &p->out, 1, NULL, error);
        case ALL_TO_ALL:
            return mdist_all_to_all(p->replica, &p->in, &p->out, 1, NULL, error);
        case BARRIER:
            return mdist_barrier(p->replica, NULL, error);
        default:
            return mdist_all_reduce(p->replica, MDIST_SUM, &p->in, &p->out, 1, NULL, error);
    }
}

static void *wait_elsewhere(void *argument) {
    Part *self = argument;
    int32_t done = 0;
    self->status = mdist_work_wait(self->work, MDIST_FOREVER, &done, NULL);
    return NULL;
}

static mdist_status_t take_part(Part *p, Form form, mdist_error_t **error) {
    if (form == BLOCKING) return block(p, error);
    mdist_status_t status = start(p, error);
    if (status != MDIST_OK || form == DESTROYED) {
        mdist_work_destroy(p->work);
        return status;
    }
    int32_t done = 0;
    pthread_t thread;
    switch (form) {
        case IN_BITS:
            while (status == MDIST_OK && !done) status = mdist_work_wait(p->work, 20000, &done, error);
            break;
        case TESTED:
            while (status == MDIST_OK && !done) {
                status = mdist_work_test(p->work, &done, error);
                sched_yield();
            }
            break;
        case ELSEWHERE:
            if (pthread_create(&thread, NULL, wait_elsewhere, p) != 0) abort();
            status = mdist_work_wait(p->work, MDIST_FOREVER, &done, error);
            pthread_join(thread, NULL);
            if (p->status != status) status = MDIST_ERR_INTERNAL;
            break;
        default:
            status = mdist_work_wait(p->work, MDIST_FOREVER, &done, error);
    }
    if (status == MDIST_OK && !done) status = MDIST_ERR_INTERNAL;
    mdist_work_destroy(p->work);
    return status;
}

/// Returns 1 if the operation succeeded.
static int operate(Program *self, mdist_replica_t *replica, int at, uint64_t *state) {
    const uint32_t id = mdist_replica_id(replica);
    const Kind kind = self->kinds[at];
    const uint64_t elements = self->elements[at], outputs = outputs_of(self, at), shift = draw_from(state, MARGIN);
    const int same = kind == IN_PLACE || kind == BROADCAST;
    uint32_t *in = NULL, *out = NULL;
    mdist_error_t *error = NULL;
    if (mdist_alloc(NULL, 0, (elements + shift) * sizeof *in, (void **)&in, NULL) != MDIST_OK) abort();
    if (mdist_alloc(NULL, 0, (outputs + shift) * sizeof *out, (void **)&out, NULL) != MDIST_OK) abort();
    uint32_t *from = in + shift, *to = same ? from : out + shift;
    for (uint64_t i = 0; i < elements; ++i) from[i] = element(self, at, id, i);
    Part part = {.program = self,
                 .replica = replica,
                 .at = at,
                 .in = buffer_of(from, MDIST_UINT32, elements),
                 .out = buffer_of(to, MDIST_UINT32, outputs)};
    const int fault = at == self->fault_at && id == self->fault_who;
    const mdist_status_t status = take_part(&part, fault ? DESTROYED : (Form)draw_from(state, DESTROYED), &error);
    const int went = status == MDIST_OK;
    if (!went) note(&self->notes[id], self->fault_at < 0 ? MDIST_OK : MDIST_ERR_ABORTED, status, &error, "operation");
    for (uint64_t i = 0; went && !fault && i < outputs; ++i) {
        if (to[i] == expected(self, at, id, i)) continue;
        snprintf(self->notes[id].text, sizeof self->notes[id].text,
                 "operation %d, kind %d: a wrong number at %llu of %llu", at, kind, (unsigned long long)i,
                 (unsigned long long)outputs);
        break;
    }
    mdist_free(in);
    mdist_free(out);
    return went;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    uint64_t state = self->seed ^ mixed_bits(id + 1);
    for (int at = 0; at < self->length; ++at) {
        if (draw_from(&state, 3) == 0) sched_yield();
        if (!operate(self, replica, at, &state)) return 0;
        self->reached[id] = at + 1;
    }
    return 0;
}

// ---- One program.

static void check_program(mdist_strategy_t *strategy, Program *self, int own) {
    mdist_error_t *error = NULL;
    const mdist_status_t status =
        own ? run_own(strategy, step, self, NULL, &error) : mdist_run(strategy, step, self, NULL, &error);
    for (uint32_t r = 0; r < self->n; ++r)
        if (self->notes[r].text[0] != '\0')
            fail_msg("seed %llu, replica %u: %s", (unsigned long long)self->seed, (unsigned)r, self->notes[r].text);
    const int given_up = status == MDIST_ERR_ABORTED && strcmp(mdist_error_reason(error), "work_destroyed") == 0 &&
                         mdist_error_replica(error) == self->fault_who;
    if (status != MDIST_OK && !(self->fault_at >= 0 && given_up))
        fail_msg("seed %llu: %s: %s", (unsigned long long)self->seed, mdist_status_name(status),
                 mdist_error_message(error));
    mdist_error_free(error);
    for (uint32_t r = 0; r < self->n; ++r) {
        const int all = status == MDIST_OK;
        const int reached = all ? self->length : self->fault_at + (r == self->fault_who);
        if (self->reached[r] != reached)
            fail_msg("seed %llu: replica %u completed %d operations, not %d", (unsigned long long)self->seed,
                     (unsigned)r, self->reached[r], reached);
    }
}

static void run_programs(uint64_t first, uint64_t count) {
    mdist_strategy_t *strategies[MOST + 1] = {NULL};
    for (uint32_t n = 1; n <= MOST; ++n) strategies[n] = make_strategy(n, NULL);
    for (uint64_t seed = first; seed < first + count; ++seed) {
        Program *program = make_program(seed);
        check_program(strategies[program->n], program, seed % 2 == 0);
        free(program);
    }
    for (uint32_t n = 1; n <= MOST; ++n) {
        expect_runs(strategies[n]);
        mdist_strategy_destroy(strategies[n]);
    }
}

static void every_form_of_every_collective_gives_the_same(void **state) {
    (void)state;
    run_programs(test_seed(1), seed_count(250, 5000));
}

/// The library asks for its allowed cores when a strategy is made.
static void also_on_one_core(void **state) {
    (void)state;
    cpu_set_t before, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    run_programs(test_seed(1), seed_count(250, 5000));
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_every_collective_gives_the_same),
        cmocka_unit_test(also_on_one_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
