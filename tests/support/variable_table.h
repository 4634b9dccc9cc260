// SPDX-License-Identifier: Apache-2.0
// Checks what a write does to a variable's copies, for every synchronization, aggregation, place, form and operation.
// TensorFlow's rules are one table, and a plain model follows it. This runs in one process and in several workers, so
// nothing here asserts.
#pragma once

#include "mdist_test.h"

#include <math.h>

enum { TABLE_WIDTH = 4, TABLE_ROWS = 3, TABLE_REPLICAS = 8 };

/// Where a variable is written, and with which kind of value.
typedef enum WritePlace {
    OUTSIDE_PLAIN = 1,
    OUTSIDE_MIRRORED = 2,
    OUTSIDE_EACH = 4, // a per-replica value
    OUTSIDE = 7,
    IN_A_STEP = 8,
    IN_AN_UPDATE = 16,
    ANY_PLACE = 31
} WritePlace;

/// Whether the whole tensor is written, or some rows of it.
typedef enum WriteForm { WHOLE = 1, ROWS = 2 } WriteForm;

/// What reaches each copy.
typedef enum Reaches {
    ITS_OWN,          // what its replica wrote; of a plain value, the same for all
    THE_SUM,          // the sum of what all replicas wrote
    THE_MEAN,         // the mean of what all replicas wrote
    THE_FIRST,        // what replica 0 wrote
    ITS_SHARE,        // one N-th, so that the sum of the copies is what was written
    ALL_IN_TURN,      // the rows of all replicas, one after another
    MEANS_IN_TURN,    // the rows of all replicas, each divided by the number of replicas
    REFUSED_TO_ADD,   // nothing: the write fails, reason sum_on_read
    REFUSED_ON_READ,  // nothing: the write fails, reason sparse_on_read
    REFUSED_TO_MERGE, // nothing: the write fails, reason sparse_aggregation
} Reaches;

#define BIT(number) (1u << (number))
enum {
    ON_WRITE = BIT(MDIST_SYNC_ON_WRITE),
    ON_READ = BIT(MDIST_SYNC_ON_READ),
    EITHER = ON_WRITE | ON_READ,
    NONE = BIT(MDIST_AGGREGATION_NONE),
    SUM = BIT(MDIST_AGGREGATION_SUM),
    MEAN = BIT(MDIST_AGGREGATION_MEAN),
    FIRST = BIT(MDIST_AGGREGATION_ONLY_FIRST_REPLICA),
    ANY = NONE | SUM | MEAN | FIRST,
    SET = BIT(MDIST_ASSIGN_SET),
    ADD = BIT(MDIST_ASSIGN_ADD),
    SUB = BIT(MDIST_ASSIGN_SUB),
    MUL = BIT(MDIST_ASSIGN_MUL),
    DIV = BIT(MDIST_ASSIGN_DIV),
    MIN = BIT(MDIST_ASSIGN_MIN),
    MAX = BIT(MDIST_ASSIGN_MAX),
    ASSIGN = SET | ADD | SUB,
    SCATTER = ASSIGN | MUL | DIV | MIN | MAX
};

typedef struct WriteRule {
    unsigned form, places, synchronizations, aggregations, assigns;
    Reaches reaches;
} WriteRule;

/// The first rule that fits applies.
static const WriteRule write_rules[] = {
    {WHOLE, OUTSIDE, ON_WRITE, ANY, ASSIGN, ITS_OWN},
    {WHOLE, OUTSIDE, ON_READ, NONE | MEAN | FIRST, ASSIGN, ITS_OWN},
    {WHOLE, OUTSIDE, ON_READ, SUM, SET, ITS_SHARE},
    {WHOLE, OUTSIDE, ON_READ, SUM, ADD | SUB, REFUSED_TO_ADD},
    {WHOLE, IN_A_STEP, ON_WRITE, NONE, ASSIGN, ITS_OWN},
    {WHOLE, IN_A_STEP, ON_WRITE, SUM, ASSIGN, THE_SUM},
    {WHOLE, IN_A_STEP, ON_WRITE, MEAN, ASSIGN, THE_MEAN},
    {WHOLE, IN_A_STEP, ON_WRITE, FIRST, ASSIGN, THE_FIRST},
    {WHOLE, IN_A_STEP, ON_READ, ANY, ASSIGN, ITS_OWN},
    {WHOLE, IN_AN_UPDATE, EITHER, ANY, ASSIGN, ITS_OWN},
    {ROWS, ANY_PLACE, ON_READ, ANY, SCATTER, REFUSED_ON_READ},
    {ROWS, ANY_PLACE, ON_WRITE, SUM | MEAN, SET | MIN | MAX, REFUSED_TO_MERGE},
    {ROWS, OUTSIDE | IN_AN_UPDATE, ON_WRITE, ANY, SCATTER, ITS_OWN},
    {ROWS, IN_A_STEP, ON_WRITE, NONE, SCATTER, ITS_OWN},
    {ROWS, IN_A_STEP, ON_WRITE, SUM, SCATTER, ALL_IN_TURN},
    {ROWS, IN_A_STEP, ON_WRITE, MEAN, SCATTER, MEANS_IN_TURN},
    {ROWS, IN_A_STEP, ON_WRITE, FIRST, SCATTER, THE_FIRST},
};

/// One cell: a variable, a write, and what is found wrong with it.
typedef struct Cell {
    mdist_strategy_t *strategy;
    mdist_dtype_t dtype;
    int synchronization, aggregation, assign;
    WritePlace place;
    WriteForm form;
    mdist_variable_t *variable;
    uint32_t n, locals, first;                  // replicas of the job, those of this worker, the id of its first one
    double copies[TABLE_REPLICAS][TABLE_WIDTH]; // the model
    Note note;
    Note notes[TABLE_REPLICAS]; // by the replicas' threads
} Cell;

MDIST_TEST_HELPER Reaches reaches_of(const Cell *cell) {
    for (size_t i = 0; i < sizeof write_rules / sizeof *write_rules; ++i) {
        const WriteRule *const rule = &write_rules[i];
        if ((rule->form & cell->form) != 0 && (rule->places & cell->place) != 0 &&
            (rule->synchronizations & BIT(cell->synchronization)) != 0 &&
            (rule->aggregations & BIT(cell->aggregation)) != 0 && (rule->assigns & BIT(cell->assign)) != 0)
            return rule->reaches;
    }
    abort(); // the table has a hole
}

MDIST_TEST_HELPER const char *reason_of(Reaches reaches) {
    return reaches == REFUSED_TO_ADD     ? "sum_on_read"
           : reaches == REFUSED_ON_READ  ? "sparse_on_read"
           : reaches == REFUSED_TO_MERGE ? "sparse_aggregation"
                                         : "";
}

// ---- The model.

/// Tells whether all replicas write the same, because there is one value for all.
MDIST_TEST_HELPER int one_for_all(const Cell *cell) {
    return cell->place == OUTSIDE_PLAIN || cell->place == OUTSIDE_MIRRORED;
}

MDIST_TEST_HELPER double written_by(const Cell *cell, uint32_t id) {
    return one_for_all(cell) ? 21 : 5 * (double)id + 7;
}

/// Returns the index of row `k` that replica `id` writes. One index comes twice.
MDIST_TEST_HELPER int64_t row_of(const Cell *cell, uint32_t id, int k) {
    return k == 1 ? 3 : one_for_all(cell) ? 1 : id % TABLE_WIDTH;
}

MDIST_TEST_HELPER double rounded(const Cell *cell, double x) {
    return cell->dtype == MDIST_FLOAT32 ? (double)(float)x : trunc(x);
}

MDIST_TEST_HELPER double applied(const Cell *cell, double before, double x) {
    switch (cell->assign) {
        case MDIST_ASSIGN_SET:
            return x;
        case MDIST_ASSIGN_ADD:
            return rounded(cell, before + x);
        case MDIST_ASSIGN_SUB:
            return rounded(cell, before - x);
        case MDIST_ASSIGN_MUL:
            return rounded(cell, before * x);
        case MDIST_ASSIGN_DIV:
            return rounded(cell, before / x);
        case MDIST_ASSIGN_MIN:
            return before < x ? before : x;
        default:
            return before > x ? before : x;
    }
}

MDIST_TEST_HELPER void write_whole_to_model(Cell *cell, uint32_t id, Reaches reaches) {
    double x = reaches == THE_FIRST ? written_by(cell, 0) : written_by(cell, id), sum = 0;
    for (uint32_t i = 0; i < cell->n; ++i) sum += written_by(cell, i);
    if (reaches == THE_SUM) x = sum;
    if (reaches == THE_MEAN) x = rounded(cell, sum / cell->n);
    if (reaches == ITS_SHARE) x = rounded(cell, x / cell->n);
    for (int i = 0; i < TABLE_WIDTH; ++i) cell->copies[id][i] = applied(cell, cell->copies[id][i], x);
}

MDIST_TEST_HELPER void write_rows_to_model(Cell *cell, uint32_t id, Reaches reaches) {
    for (uint32_t from = 0; from < cell->n; ++from) {
        const double share = reaches == MEANS_IN_TURN ? cell->n : 1, x = rounded(cell, written_by(cell, from) / share);
        if ((reaches == ITS_OWN && from != id) || (reaches == THE_FIRST && from != 0)) continue;
        for (int k = 0; k < TABLE_ROWS; ++k) {
            double *const element = &cell->copies[id][row_of(cell, from, k)];
            *element = applied(cell, *element, x);
        }
    }
}

MDIST_TEST_HELPER void write_to_model(Cell *cell, Reaches reaches) {
    for (uint32_t id = 0; id < cell->n && reason_of(reaches)[0] == '\0'; ++id) {
        if (cell->form == WHOLE)
            write_whole_to_model(cell, id, reaches);
        else
            write_rows_to_model(cell, id, reaches);
    }
}

// ---- The library's side.

typedef union Elements {
    float reals[TABLE_WIDTH];
    int64_t wholes[TABLE_WIDTH];
} Elements;

MDIST_TEST_HELPER mdist_tensor_t filled_with(const Cell *cell, double x, Elements *elements, uint64_t count) {
    for (int i = 0; i < TABLE_WIDTH; ++i) {
        if (cell->dtype == MDIST_FLOAT32)
            elements->reals[i] = (float)x;
        else
            elements->wholes[i] = (int64_t)x;
    }
    return tensor_of(elements, cell->dtype, count);
}

/// What replica `id` writes, and the indices of its rows.
typedef struct Written {
    Elements elements;
    int64_t rows[TABLE_ROWS];
    mdist_tensor_t tensor, indices;
} Written;

MDIST_TEST_HELPER void describe_written(const Cell *cell, uint32_t id, Written *out) {
    const uint64_t count = cell->form == WHOLE ? TABLE_WIDTH : TABLE_ROWS;
    for (int k = 0; k < TABLE_ROWS; ++k) out->rows[k] = row_of(cell, id, k);
    out->tensor = filled_with(cell, written_by(cell, id), &out->elements, count);
    out->indices = tensor_of(out->rows, MDIST_INT64, TABLE_ROWS);
}

/// Notes what a write gave, if that is not what the table says.
MDIST_TEST_HELPER void note_write(Note *self, Reaches reaches, mdist_status_t status, mdist_error_t *error) {
    const char *const word = reason_of(reaches);
    const mdist_status_t wanted = word[0] == '\0'             ? MDIST_OK
                                  : reaches == REFUSED_TO_ADD ? MDIST_ERR_FAILED_PRECONDITION
                                                              : MDIST_ERR_UNSUPPORTED;
    if (strcmp(mdist_error_reason(error), word) != 0 && self->text[0] == '\0')
        snprintf(self->text, sizeof self->text, "reason \"%s\", not \"%s\"", mdist_error_reason(error), word);
    note(self, wanted, status, &error, "a write");
}

MDIST_TEST_HELPER mdist_value_t *value_of(Cell *cell, const mdist_tensor_t *tensors) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    mdist_status_t status;
    if (cell->place == OUTSIDE_PLAIN)
        status = mdist_value_create(tensors, &value, &error);
    else if (cell->place == OUTSIDE_MIRRORED)
        status = mdist_strategy_broadcast(cell->strategy, tensors, &value, &error);
    else
        status = mdist_value_per_replica(cell->strategy, tensors, cell->locals, &value, &error);
    note(&cell->note, MDIST_OK, status, &error, "making a value");
    return value;
}

MDIST_TEST_HELPER mdist_value_t *value_to_write(Cell *cell) {
    mdist_error_t *error = NULL;
    Written written[TABLE_REPLICAS];
    mdist_tensor_t tensors[TABLE_REPLICAS], indices[TABLE_REPLICAS];
    for (uint32_t local = 0; local < cell->locals; ++local) {
        describe_written(cell, cell->first + local, &written[local]);
        tensors[local] = written[local].tensor;
        indices[local] = written[local].indices;
    }
    mdist_value_t *const values = value_of(cell, tensors);
    if (cell->form == WHOLE) return values;
    mdist_value_t *const which = value_of(cell, indices), *rows = NULL;
    note(&cell->note, MDIST_OK, mdist_value_sparse(which, values, &rows, &error), &error, "mdist_value_sparse");
    mdist_value_destroy(which);
    mdist_value_destroy(values);
    return rows;
}

MDIST_TEST_HELPER int32_t table_step(mdist_replica_t *replica, void *user_data) {
    Cell *const cell = (Cell *)user_data;
    const uint32_t id = mdist_replica_id(replica);
    const mdist_assign_t assign = (mdist_assign_t)cell->assign;
    mdist_error_t *error = NULL;
    Written own;
    describe_written(cell, id, &own);
    const mdist_status_t status =
        cell->form == WHOLE
            ? mdist_replica_assign(replica, cell->variable, assign, &own.tensor, NULL, &error)
            : mdist_replica_assign_sparse(replica, cell->variable, assign, &own.indices, &own.tensor, NULL, &error);
    note_write(&cell->notes[id], reaches_of(cell), status, error);
    return 0;
}

/// Writes in a step. If replicas may not do what they were to do together, the run fails.
MDIST_TEST_HELPER void write_in_step(Cell *cell, Reaches reaches) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(cell->strategy, table_step, cell, NULL, &error);
    note_write(&cell->note, reaches == REFUSED_TO_MERGE ? reaches : ITS_OWN, status, error);
}

/// What table_update() needs: it writes `value`, which is the same for all, to its copy.
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
    note_write(&self->cell->note, reaches_of(self->cell), status, error);
    return 0;
}

MDIST_TEST_HELPER void write_to_variable(Cell *cell, Reaches reaches) {
    mdist_error_t *error = NULL;
    if (cell->place == IN_A_STEP) {
        write_in_step(cell, reaches);
        return;
    }
    Updating updating = {cell, value_to_write(cell)};
    if (cell->place == IN_AN_UPDATE) {
        const mdist_status_t status = mdist_update(cell->variable, table_update, &updating, NULL, &error);
        note(&cell->note, MDIST_OK, status, &error, "mdist_update");
    } else {
        const mdist_status_t status =
            mdist_variable_assign(cell->variable, (mdist_assign_t)cell->assign, updating.value, &error);
        note_write(&cell->note, reaches, status, error);
    }
    mdist_value_destroy(updating.value);
}

// ---- Comparing the two.

MDIST_TEST_HELPER void expect_element(Cell *cell, const char *what, uint32_t which, int i, double wanted,
                                      const mdist_tensor_t *tensor) {
    const double found = cell->dtype == MDIST_FLOAT32 ? (double)((const float *)tensor->data)[i]
                                                      : (double)((const int64_t *)tensor->data)[i];
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

/// Reads the variable outside of steps. Mirrored variables give this worker's first copy, ONLY_FIRST_REPLICA that of
/// replica 0 of the job, others the aggregate of all copies of the job.
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
        double read = cell->copies[cell->first][i], sum = 0;
        for (uint32_t id = 0; id < cell->n; ++id) sum = rounded(cell, sum + cell->copies[id][i]);
        if (on_read && cell->aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA) read = cell->copies[0][i];
        if (on_read && cell->aggregation == MDIST_AGGREGATION_SUM) read = sum;
        if (on_read && cell->aggregation == MDIST_AGGREGATION_MEAN) read = rounded(cell, sum / cell->n);
        expect_element(cell, "what is read,", 0, i, read, &tensor);
    }
    mdist_value_destroy(value);
}

/// Tells whether the cell's variable cannot be created: a MEAN of integers.
MDIST_TEST_HELPER int cannot_be_created(const Cell *cell) {
    return cell->aggregation == MDIST_AGGREGATION_MEAN && cell->dtype == MDIST_INT64;
}

MDIST_TEST_HELPER int create_for(Cell *cell) {
    mdist_error_t *error = NULL;
    Elements elements;
    const mdist_tensor_t initial = filled_with(cell, 12, &elements, TABLE_WIDTH);
    mdist_variable_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.synchronization = cell->synchronization;
    options.aggregation = cell->aggregation;
    const int refused = cannot_be_created(cell);
    const mdist_status_t status =
        mdist_variable_create(cell->strategy, "cell", &initial, &cell->variable, &options, &error);
    note(&cell->note, refused ? MDIST_ERR_INVALID_ARGUMENT : MDIST_OK, status, &error, "mdist_variable_create");
    for (uint32_t id = 0; id < cell->n; ++id)
        for (int i = 0; i < TABLE_WIDTH; ++i) cell->copies[id][i] = 12;
    return status == MDIST_OK;
}

/// Tries one write to one variable. If anything is not as the table says, it prints a sentence and returns 1.
MDIST_TEST_HELPER int check_cell(Cell *cell) {
    cell->n = mdist_strategy_replica_count(cell->strategy);
    cell->locals = mdist_strategy_local_replica_count(cell->strategy);
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
    fprintf(stderr, "%u replicas, %s, synchronization %d, aggregation %d, place %d, form %d, assign %d: %s\n",
            (unsigned)cell->n, mdist_dtype_name(cell->dtype), cell->synchronization, cell->aggregation,
            (int)cell->place, (int)cell->form, cell->assign, cell->note.text);
    return 1;
}

// ---- All cells.

/// Tells whether the cell would end a job of several workers: a failed step or a variable that cannot be created does.
/// Such cells are tried with one worker only.
MDIST_TEST_HELPER int ends_the_job(const Cell *cell) {
    return mdist_strategy_worker_count(cell->strategy) > 1 &&
           (cannot_be_created(cell) || (cell->place == IN_A_STEP && reaches_of(cell) == REFUSED_TO_MERGE));
}

/// Tries one operation in all places. Returns how many are wrong.
MDIST_TEST_HELPER int check_assign(const Cell *variable, WriteForm form, int assign) {
    int wrong = 0;
    for (int place = OUTSIDE_PLAIN; place <= IN_AN_UPDATE; place *= 2) {
        Cell cell = *variable;
        cell.form = form;
        cell.assign = assign;
        cell.place = (WritePlace)place;
        if (!ends_the_job(&cell)) wrong += check_cell(&cell);
    }
    return wrong;
}

/// Tries every cell of the table. Returns how many are wrong. `first` is the id of this worker's first replica.
MDIST_TEST_HELPER int check_table(mdist_strategy_t *strategy, uint32_t first) {
    static const mdist_dtype_t dtypes[] = {MDIST_FLOAT32, MDIST_INT64};
    Cell cell;
    int wrong = 0;
    memset(&cell, 0, sizeof cell);
    cell.strategy = strategy;
    cell.first = first;
    for (size_t d = 0; d < 2; ++d)
        for (int synchronization = MDIST_SYNC_ON_WRITE; synchronization <= MDIST_SYNC_ON_READ; ++synchronization)
            for (int aggregation = 0; aggregation <= MDIST_AGGREGATION_ONLY_FIRST_REPLICA; ++aggregation) {
                cell.dtype = dtypes[d];
                cell.synchronization = synchronization;
                cell.aggregation = aggregation;
                for (int assign = MDIST_ASSIGN_SET; assign <= MDIST_ASSIGN_SUB; ++assign)
                    wrong += check_assign(&cell, WHOLE, assign);
                for (int assign = MDIST_ASSIGN_SET; assign <= MDIST_ASSIGN_MAX; ++assign)
                    wrong += check_assign(&cell, ROWS, assign);
            }
    return wrong;
}
