// SPDX-License-Identifier: Apache-2.0
// What a write does to a variable's copies, by synchronization, aggregation, place and operation: TensorFlow's rules as
// one table, and a plain model that follows it. In one process and in several workers, so nothing here asserts.
#pragma once

#include "mdist_test.h"

#include <math.h>

enum { TABLE_WIDTH = 4, TABLE_REPLICAS = 8 };

/// From where, and with what, a variable is written.
typedef enum WritePlace {
    OUTSIDE_PLAIN = 1,
    OUTSIDE_MIRRORED = 2,
    OUTSIDE_EACH = 4, // a per-replica value
    OUTSIDE = 7,
    IN_A_STEP = 8,
    IN_AN_UPDATE = 16
} WritePlace;

/// What reaches each copy.
typedef enum Reaches {
    ITS_OWN,       // what its replica wrote or, of a plain value, what all get
    THE_SUM,       // of what all replicas wrote
    THE_MEAN,      // likewise
    THE_FIRST,     // what replica 0 wrote
    ITS_SHARE,     // one N-th, so that the copies' sum is what was written
    REFUSED_TO_ADD // nothing: reason sum_on_read
} Reaches;

#define BIT(number) (1u << (number))
enum {
    ON_WRITE = BIT(MDIST_SYNC_ON_WRITE),
    ON_READ = BIT(MDIST_SYNC_ON_READ),
    NONE = BIT(MDIST_AGGREGATION_NONE),
    SUM = BIT(MDIST_AGGREGATION_SUM),
    MEAN = BIT(MDIST_AGGREGATION_MEAN),
    FIRST = BIT(MDIST_AGGREGATION_ONLY_FIRST_REPLICA),
    SET = BIT(MDIST_ASSIGN_SET),
    ADD = BIT(MDIST_ASSIGN_ADD),
    SUB = BIT(MDIST_ASSIGN_SUB),
    ANY_SYNCHRONIZATION = ON_WRITE | ON_READ,
    ANY_AGGREGATION = NONE | SUM | MEAN | FIRST,
    ANY_ASSIGN = SET | ADD | SUB
};

typedef struct WriteRule {
    unsigned places, synchronizations, aggregations, assigns;
    Reaches reaches;
} WriteRule;

static const WriteRule write_rules[] = {
    {OUTSIDE, ON_WRITE, ANY_AGGREGATION, ANY_ASSIGN, ITS_OWN},
    {OUTSIDE, ON_READ, NONE | MEAN | FIRST, ANY_ASSIGN, ITS_OWN},
    {OUTSIDE, ON_READ, SUM, SET, ITS_SHARE},
    {OUTSIDE, ON_READ, SUM, ADD | SUB, REFUSED_TO_ADD},
    {IN_A_STEP, ON_WRITE, NONE, ANY_ASSIGN, ITS_OWN},
    {IN_A_STEP, ON_WRITE, SUM, ANY_ASSIGN, THE_SUM},
    {IN_A_STEP, ON_WRITE, MEAN, ANY_ASSIGN, THE_MEAN},
    {IN_A_STEP, ON_WRITE, FIRST, ANY_ASSIGN, THE_FIRST},
    {IN_A_STEP, ON_READ, ANY_AGGREGATION, ANY_ASSIGN, ITS_OWN},
    {IN_AN_UPDATE, ANY_SYNCHRONIZATION, ANY_AGGREGATION, ANY_ASSIGN, ITS_OWN},
};

/// One cell: a variable, a write, and what is found wrong with it.
typedef struct Cell {
    mdist_strategy_t *strategy;
    mdist_dtype_t dtype;
    int synchronization, aggregation, assign;
    WritePlace place;
    mdist_variable_t *variable;
    uint32_t n, locals, first;                  // replicas, those of this worker, and the id of the first of them
    double copies[TABLE_REPLICAS][TABLE_WIDTH]; // the model
    Note note;
    Note notes[TABLE_REPLICAS]; // of the replicas' threads
} Cell;

MDIST_TEST_HELPER Reaches reaches_of(const Cell *cell) {
    for (size_t i = 0; i < sizeof write_rules / sizeof *write_rules; ++i) {
        const WriteRule *const rule = &write_rules[i];
        if ((rule->places & cell->place) != 0 && (rule->synchronizations & BIT(cell->synchronization)) != 0 &&
            (rule->aggregations & BIT(cell->aggregation)) != 0 && (rule->assigns & BIT(cell->assign)) != 0)
            return rule->reaches;
    }
    abort(); // the table has a hole
}

/// What replica `id` writes: everybody the same where there is one value for all.
MDIST_TEST_HELPER double written_by(const Cell *cell, uint32_t id) {
    return cell->place == OUTSIDE_PLAIN || cell->place == OUTSIDE_MIRRORED ? 21 : 5 * (double)id + 7;
}

MDIST_TEST_HELPER double rounded(const Cell *cell, double x) {
    return cell->dtype == MDIST_FLOAT32 ? (double)(float)x : trunc(x);
}

MDIST_TEST_HELPER double reaching(const Cell *cell, Reaches reaches, uint32_t id) {
    double sum = 0;
    for (uint32_t i = 0; i < cell->n; ++i) sum += written_by(cell, i);
    switch (reaches) {
        case THE_SUM:
            return sum;
        case THE_MEAN:
            return rounded(cell, sum / cell->n);
        case THE_FIRST:
            return written_by(cell, 0);
        case ITS_SHARE:
            return rounded(cell, written_by(cell, id) / cell->n);
        default:
            return written_by(cell, id);
    }
}

MDIST_TEST_HELPER void write_to_model(Cell *cell, Reaches reaches) {
    for (uint32_t id = 0; id < cell->n && reaches != REFUSED_TO_ADD; ++id)
        for (int i = 0; i < TABLE_WIDTH; ++i) {
            const double x = reaching(cell, reaches, id), before = cell->copies[id][i];
            cell->copies[id][i] = cell->assign == MDIST_ASSIGN_SET   ? x
                                  : cell->assign == MDIST_ASSIGN_ADD ? rounded(cell, before + x)
                                                                     : rounded(cell, before - x);
        }
}

// ---- The library's side.

typedef union Elements {
    float reals[TABLE_WIDTH];
    int64_t wholes[TABLE_WIDTH];
} Elements;

MDIST_TEST_HELPER mdist_tensor_t filled_with(const Cell *cell, double x, Elements *elements) {
    for (int i = 0; i < TABLE_WIDTH; ++i) {
        if (cell->dtype == MDIST_FLOAT32)
            elements->reals[i] = (float)x;
        else
            elements->wholes[i] = (int64_t)x;
    }
    return tensor_of(elements, cell->dtype, TABLE_WIDTH);
}

MDIST_TEST_HELPER double element(const Cell *cell, const mdist_tensor_t *tensor, int i) {
    return cell->dtype == MDIST_FLOAT32 ? (double)((const float *)tensor->data)[i]
                                        : (double)((const int64_t *)tensor->data)[i];
}

/// What a refused cell is told.
MDIST_TEST_HELPER void expect_refusal(Cell *cell, mdist_status_t status, mdist_error_t *error) {
    if (strcmp(mdist_error_reason(error), "sum_on_read") != 0 && cell->note.text[0] == '\0')
        snprintf(cell->note.text, sizeof cell->note.text, "reason %s", mdist_error_reason(error));
    note(&cell->note, MDIST_ERR_FAILED_PRECONDITION, status, &error, "a refused write");
}

MDIST_TEST_HELPER mdist_value_t *value_to_write(Cell *cell) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    Elements elements[TABLE_REPLICAS];
    mdist_tensor_t tensors[TABLE_REPLICAS];
    for (uint32_t local = 0; local < cell->locals; ++local)
        tensors[local] = filled_with(cell, written_by(cell, cell->first + local), &elements[local]);
    const mdist_status_t status = cell->place == OUTSIDE_PLAIN ? mdist_value_create(tensors, &value, &error)
                                  : cell->place == OUTSIDE_MIRRORED
                                      ? mdist_broadcast_to(cell->strategy, tensors, &value, &error)
                                      : mdist_value_per_replica(cell->strategy, tensors, cell->locals, &value, &error);
    note(&cell->note, MDIST_OK, status, &error, "making a value");
    return value;
}

MDIST_TEST_HELPER int32_t table_step(mdist_replica_t *replica, void *user_data) {
    Cell *const cell = (Cell *)user_data;
    const uint32_t id = (uint32_t)mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    Elements elements;
    const mdist_tensor_t tensor = filled_with(cell, written_by(cell, id), &elements);
    const mdist_status_t status =
        mdist_replica_assign(replica, cell->variable, (mdist_assign_t)cell->assign, &tensor, NULL, &error);
    return note(&cell->notes[id], MDIST_OK, status, &error, "mdist_replica_assign");
}

/// Writes the copy at hand by the value that was given to all.
typedef struct Updating {
    Cell *cell;
    mdist_value_t *value;
} Updating;

MDIST_TEST_HELPER int32_t table_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                                       size_t argument_count, mdist_value_t **results, size_t result_count,
                                       void *user_data) {
    Updating *const self = (Updating *)user_data;
    mdist_error_t *error = NULL;
    (void)local, (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    const mdist_status_t status =
        mdist_variable_assign(self->cell->variable, (mdist_assign_t)self->cell->assign, self->value, &error);
    return note(&self->cell->note, MDIST_OK, status, &error, "mdist_variable_assign in an update");
}

MDIST_TEST_HELPER void write_to_variable(Cell *cell, Reaches reaches) {
    mdist_error_t *error = NULL;
    if (cell->place == IN_A_STEP) {
        const mdist_status_t status = mdist_run(cell->strategy, table_step, cell, NULL, 0, NULL, 0, NULL, &error);
        note(&cell->note, MDIST_OK, status, &error, "mdist_run");
        return;
    }
    mdist_value_t *const value = value_to_write(cell);
    if (cell->place == IN_AN_UPDATE) {
        Updating updating = {cell, value};
        const mdist_status_t status = mdist_update(cell->variable, table_update, &updating, NULL, 0, NULL, 0, &error);
        note(&cell->note, MDIST_OK, status, &error, "mdist_update");
    } else {
        const mdist_status_t status =
            mdist_variable_assign(cell->variable, (mdist_assign_t)cell->assign, value, &error);
        if (reaches == REFUSED_TO_ADD)
            expect_refusal(cell, status, error);
        else
            note(&cell->note, MDIST_OK, status, &error, "mdist_variable_assign");
    }
    mdist_value_destroy(value);
}

// ---- What is found.

MDIST_TEST_HELPER void expect_element(Cell *cell, const char *what, uint32_t which, int i, double wanted,
                                      const mdist_tensor_t *tensor) {
    const double found = element(cell, tensor, i);
    if (found != wanted && cell->note.text[0] == '\0')
        snprintf(cell->note.text, sizeof cell->note.text, "%s %u, element %d is %g, not %g", what, (unsigned)which, i,
                 found, wanted);
}

MDIST_TEST_HELPER void look_at_copies(Cell *cell) {
    for (uint32_t local = 0; local < cell->locals; ++local) {
        mdist_error_t *error = NULL;
        mdist_tensor_t copy;
        const mdist_status_t status = mdist_variable_tensor(cell->variable, local, &copy, &error);
        if (note(&cell->note, MDIST_OK, status, &error, "mdist_variable_tensor") != 0) return;
        for (int i = 0; i < TABLE_WIDTH; ++i)
            expect_element(cell, "copy", local, i, cell->copies[cell->first + local][i], &copy);
    }
}

/// Mirrored and ONLY_FIRST_REPLICA: this worker's first copy; else the aggregate of all copies of the job.
MDIST_TEST_HELPER void read_from_outside(Cell *cell) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    mdist_tensor_t tensor;
    const int on_read = cell->synchronization == MDIST_SYNC_ON_READ;
    const int refused = on_read && cell->aggregation == MDIST_AGGREGATION_NONE;
    const mdist_status_t status = mdist_variable_read(cell->variable, &value, NULL, &error);
    const mdist_status_t wanted = refused ? MDIST_ERR_FAILED_PRECONDITION : MDIST_OK;
    if (note(&cell->note, wanted, status, &error, "mdist_variable_read") != 0 || refused) return;
    note(&cell->note, MDIST_OK, mdist_value_tensor(value, 0, &tensor, &error), &error, "mdist_value_tensor");
    for (int i = 0; i < TABLE_WIDTH; ++i) {
        double sum = 0;
        for (uint32_t id = 0; id < cell->n; ++id) sum = rounded(cell, sum + cell->copies[id][i]);
        const double read = on_read && cell->aggregation == MDIST_AGGREGATION_SUM    ? sum
                            : on_read && cell->aggregation == MDIST_AGGREGATION_MEAN ? rounded(cell, sum / cell->n)
                                                                                     : cell->copies[cell->first][i];
        expect_element(cell, "what is read,", 0, i, read, &tensor);
    }
    mdist_value_destroy(value);
}

/// Creates the cell's variable, which a mean of integers cannot be: 0 then.
MDIST_TEST_HELPER int create_for(Cell *cell) {
    mdist_error_t *error = NULL;
    Elements elements;
    const mdist_tensor_t initial = filled_with(cell, 12, &elements);
    mdist_variable_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.synchronization = cell->synchronization;
    options.aggregation = cell->aggregation;
    const int refused = cell->aggregation == MDIST_AGGREGATION_MEAN && cell->dtype == MDIST_INT64;
    const mdist_status_t status =
        mdist_variable_create(cell->strategy, "cell", &initial, &cell->variable, &options, &error);
    note(&cell->note, refused ? MDIST_ERR_INVALID_ARGUMENT : MDIST_OK, status, &error, "mdist_variable_create");
    for (uint32_t id = 0; id < cell->n; ++id)
        for (int i = 0; i < TABLE_WIDTH; ++i) cell->copies[id][i] = 12;
    return status == MDIST_OK;
}

/// One write to one variable; 1, and a sentence printed, if anything is not as the table says.
MDIST_TEST_HELPER int check_cell(Cell *cell) {
    cell->n = mdist_strategy_replica_count(cell->strategy);
    cell->locals = mdist_strategy_local_replica_count(cell->strategy);
    cell->first = (uint32_t)mdist_strategy_worker(cell->strategy) * cell->locals;
    if (create_for(cell)) {
        const Reaches reaches = reaches_of(cell);
        write_to_variable(cell, reaches);
        write_to_model(cell, reaches);
        look_at_copies(cell);
        read_from_outside(cell);
    }
    mdist_variable_destroy(cell->variable);
    for (uint32_t id = 0; id < cell->n && cell->note.text[0] == '\0'; ++id) cell->note = cell->notes[id];
    if (cell->note.text[0] == '\0') return 0;
    fprintf(stderr, "%u replicas, %s, synchronization %d, aggregation %d, place %d, assign %d: %s\n", (unsigned)cell->n,
            mdist_dtype_name(cell->dtype), cell->synchronization, cell->aggregation, (int)cell->place, cell->assign,
            cell->note.text);
    return 1;
}

/// Every cell of the table; how many are wrong.
MDIST_TEST_HELPER int check_table(mdist_strategy_t *strategy) {
    static const mdist_dtype_t dtypes[] = {MDIST_FLOAT32, MDIST_INT64};
    int wrong = 0;
    for (size_t d = 0; d < 2; ++d)
        for (int synchronization = MDIST_SYNC_ON_WRITE; synchronization <= MDIST_SYNC_ON_READ; ++synchronization)
            for (int aggregation = 0; aggregation <= MDIST_AGGREGATION_ONLY_FIRST_REPLICA; ++aggregation)
                for (int assign = MDIST_ASSIGN_SET; assign <= MDIST_ASSIGN_SUB; ++assign)
                    for (int place = OUTSIDE_PLAIN; place <= IN_AN_UPDATE; place *= 2) {
                        Cell cell;
                        memset(&cell, 0, sizeof cell);
                        cell.strategy = strategy;
                        cell.dtype = dtypes[d];
                        cell.synchronization = synchronization;
                        cell.aggregation = aggregation;
                        cell.assign = assign;
                        cell.place = (WritePlace)place;
                        wrong += check_cell(&cell);
                    }
    return wrong;
}
