// SPDX-License-Identifier: Apache-2.0
// Generates random programs. An operation is drawn blindly, except that a program keeps to a few shapes and types. Then
// the model computes what it would give. If the model cannot tell, another operation is drawn. Most errors are also
// drawn again.
#include "../support/random.h"
#include "model.h"

#include <math.h>
#include <string.h>

typedef struct Generator {
    Model model;
    uint64_t state;
    int32_t dtypes[2];
    int32_t ranks[2];
    uint64_t shapes[2][MOST_DIMENSIONS];
    uint64_t row_count; // the usual number of rows
    int whole;          // numbers are small whole ones
} Generator;

static const char *const kPaths[] = {"a", "b", "c.0", "c.1", "c.x", "0", "1", ""};
static const char *const kDestinations[] = {NULL, "", "cpu:0", "cpu:1", "cpu:7"};

static uint32_t draw(Generator *self, uint32_t below) {
    return draw_from(&self->state, below);
}

static int one_in(Generator *self, uint32_t many) {
    return draw(self, many) == 0;
}

static const char *draw_path(Generator *self) {
    return kPaths[draw(self, one_in(self, 8) ? 8 : 4)];
}

static int32_t draw_dtype(Generator *self) {
    static const int32_t kAll[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                                   MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64,
                                   MDIST_INT16,   MDIST_UINT16,  MDIST_BOOL};
    return one_in(self, 2) ? MDIST_FLOAT32 + (int32_t)draw(self, 2) : kAll[draw(self, 13)]; // or float64
}

static Number draw_number(Generator *self, int32_t dtype) {
    const int whole = (int)draw(self, 9) - 4;
    static const double kOdd[] = {-0.0, INFINITY, -INFINITY, NAN, 65519, 1e-7};
    if (self->whole || is_integer(dtype)) return number_of(dtype, whole);
    if (one_in(self, 40)) return number_of(dtype, kOdd[draw(self, 6)]);
    return number_of(dtype, (whole + draw(self, 1000000) / 1e6) * pow(2, (int)draw(self, 7) - 3));
}

// ---- Tensors and values.

static Tensor draw_tensor(Generator *self, int32_t dtype, int32_t rank, const uint64_t *shape) {
    Tensor tensor = make_tensor(dtype, rank, shape);
    const int zeros = one_in(self, 12);
    for (uint64_t i = 0; i < tensor.elements && !zeros; ++i) tensor.numbers[i] = draw_number(self, dtype);
    return tensor;
}

/// Draws int64 indices. Most are of rows that exist.
static Tensor draw_indices(Generator *self, uint64_t count, uint64_t rows) {
    Tensor tensor = make_tensor(MDIST_INT64, 1, &count);
    for (uint64_t i = 0; i < count; ++i)
        tensor.numbers[i] =
            number_of(MDIST_INT64, one_in(self, 60) ? (double)draw(self, 9) - 3 : draw(self, (uint32_t)rows));
    return tensor;
}

/// Draws what a leaf looks like: like a variable, or one of the program's shapes and types.
static Tensor draw_pattern(Generator *self) {
    const Variable *const variable = &self->model.variables[draw(self, MOST_VARIABLES)];
    if (variable->there && !one_in(self, 3)) return variable->copies[0];
    const uint32_t palette = draw(self, 2);
    Tensor pattern = {.dtype = self->dtypes[draw(self, 2)], .rank = self->ranks[palette]};
    memcpy(pattern.shape, self->shapes[palette], sizeof pattern.shape);
    return pattern;
}

/// Draws a tensor for each replica. Shapes are alike or differ in length. The numbers are the same for all replicas,
/// for all of one worker, or for none. Rows and indices of one program fit together more often than not.
static Leaf draw_leaf(Generator *self, mdist_value_kind_t kind) {
    const Model *const model = &self->model;
    Tensor pattern = draw_pattern(self);
    const int indices = one_in(self, 4), rows = one_in(self, 3), ragged = one_in(self, 4);
    const uint64_t height = pattern.rank > 0 && pattern.shape[0] > 0 ? pattern.shape[0] : 1;
    const uint64_t first = rows || indices ? self->row_count : height;
    Leaf leaf = {.kind = kind};
    for (uint32_t r = 0; r < model->replicas; ++r) {
        const int again =
            kind == MDIST_VALUE_MIRRORED ? r > 0 : kind == MDIST_VALUE_PLAIN && r != first_beside(&model->layout, r);
        if (pattern.rank > 0 && (rows || ragged)) pattern.shape[0] = (first + (ragged ? r : 0)) % 4;
        leaf.tensors[r] = again     ? leaf.tensors[r - 1]
                          : indices ? draw_indices(self, (first + (ragged ? r : 0)) % 4, height)
                                    : draw_tensor(self, pattern.dtype, pattern.rank, pattern.shape);
    }
    return leaf;
}

static Value draw_literal(Generator *self, int step) {
    static const mdist_value_kind_t kKinds[] = {MDIST_VALUE_PER_REPLICA, MDIST_VALUE_PLAIN, MDIST_VALUE_MIRRORED,
                                                MDIST_VALUE_PER_REPLICA};
    Value value = {.there = 1, .leaf_count = 1};
    value.leaves[0] = draw_leaf(self, kKinds[step ? 0 : draw(self, 4)]);
    return value;
}

// ---- Operations.

/// Returns a register that holds rows; -1: none does.
static int find_rows(Generator *self, const Block *block) {
    const int first = (int)draw(self, REGISTERS);
    for (int i = 0; i < REGISTERS; ++i)
        if (block->registers[(first + i) % REGISTERS].leaves[0].has_rows) return (first + i) % REGISTERS;
    return -1;
}

/// Draws a register for indices, then one for rows, of another type if there is one.
static int draw_for_rows(Generator *self, const Block *block, int indices) {
    int which = 0;
    for (int i = 0; i < 12; ++i) {
        which = (int)draw(self, REGISTERS);
        const Value *const value = &block->registers[which];
        if (value->there && (value->leaves[0].tensors[0].dtype == MDIST_INT64) == indices) break;
    }
    return which;
}

static int draw_register(Generator *self, const Block *block, Kind kind) {
    const int takes_rows = kind == ASSIGN || kind == UPDATE || (kind >= REDUCE && kind <= BATCH_REDUCE_TO);
    int which = takes_rows && one_in(self, 2) ? find_rows(self, block) : -1;
    if (which >= 0) return which;
    for (int i = 0; i < 4; ++i) { // prefer a register that holds something
        which = (int)draw(self, REGISTERS);
        if (block->registers[which].there) break;
    }
    return which;
}

static int draw_from_count(Generator *self, Kind kind) {
    switch (kind) {
        case LITERAL:
        case CREATE:
        case READ:
        case ARGUMENT:
        case NUMBERS:
        case COPY:
        case STEP_CREATE:
        case MISPLACED:
        case RETURN:
            return 0;
        case ROWS:
        case UPDATE:
        case BATCH_REDUCE_TO:
        case ALL_REDUCE_ROWS:
        case STEP_ASSIGN_ROWS:
            return 2;
        case RUN:
        case MERGE:
            return (int)draw(self, 3);
        case STRUCTURE:
        case ALL_REDUCE:
            return 1 + (int)draw(self, 2);
        default:
            return 1;
    }
}

/// Draws a kind that programs should have more often than others.
static Kind draw_favourite(Generator *self, const Block *block) {
    const int step = block->place == IN_STEP;
    static const Kind kOutside[] = {ROWS, ROWS, ASSIGN, REDUCE, REDUCE_TO, UPDATE};
    static const Kind kInStep[] = {ALL_REDUCE_ROWS, STEP_ASSIGN, STEP_ASSIGN_ROWS, STEP_ASSIGN_ROWS, MESSAGES};
    static const Kind kWithRows[] = {ASSIGN, REDUCE, REDUCE_TO};
    if (!step && find_rows(self, block) >= 0 && one_in(self, 2)) return kWithRows[draw(self, 3)];
    return step ? kInStep[draw(self, 5)] : kOutside[draw(self, 6)];
}

static Kind draw_kind(Generator *self, const Block *block) {
    const int step = block->place == IN_STEP;
    if (block->place != IN_PROGRAM && one_in(self, 25)) return one_in(self, 3) ? RETURN : MISPLACED;
    if (!step && block->depth < DEEPEST && one_in(self, 4)) return RUN;
    if (one_in(self, 2)) return draw_favourite(self, block);
    if (!step) return (Kind)draw(self, RUN);
    if (one_in(self, 5)) return NUMBERS;
    return (Kind)(ARGUMENT + (int)draw(self, MERGE - ARGUMENT + (block->depth < DEEPEST ? 1 : 0)));
}

static int draw_code(Generator *self, Kind kind) {
    switch (kind) {
        case ASSIGN:
        case UPDATE:
        case STEP_ASSIGN:
            return one_in(self, 10) ? (int)draw(self, 9) : 1 + (int)draw(self, 3);
        case STEP_ASSIGN_ROWS:
            return one_in(self, 10) ? (int)draw(self, 9) : 1 + (int)draw(self, 7);
        case LITERAL:
            return (int)draw(self, 2);
        case FETCH:
            return one_in(self, 10) ? 5 : 0; // what the fetch function returns
        case MISPLACED:
            return (int)draw(self, 6);
        case RETURN:
            return 1 + (int)draw(self, 100);
        case MESSAGES:
            return (int)draw(self, 1 << 16);
        default:
            return one_in(self, 30) ? 9 : 1 + (int)draw(self, 8);
    }
}

static int draw_root(Generator *self, const Operation *operation) {
    const Members members = members_of(&self->model, operation);
    return one_in(self, 6) ? (int)draw(self, self->model.replicas + 1)
                           : (int)members.members[draw(self, members.count)];
}

static Operation *draw_operation(Generator *self, const Block *block) {
    Operation *const operation = take_memory(sizeof *operation);
    const Kind kind = operation->kind = draw_kind(self, block);
    const int step = block->place == IN_STEP;
    operation->from_count = draw_from_count(self, kind);
    operation->to = (int)draw(self, REGISTERS - 1);
    operation->variable = (int)draw(self, MOST_VARIABLES);
    operation->code = draw_code(self, kind);
    operation->group = -1;
    if (kind >= ALL_REDUCE && kind <= ALL_TO_ALL && self->model.group_count > 0 && one_in(self, 2))
        operation->group = (int)draw(self, (uint32_t)self->model.group_count);
    operation->root = kind == BROADCAST ? draw_root(self, operation) : -1;
    for (uint32_t r = 0; kind == MESSAGES && r < self->model.replicas; ++r)
        operation->sources[r] = one_in(self, 4) ? r : draw(self, self->model.replicas);
    if (kind == RESULT && one_in(self, 10)) operation->root = (int)draw(self, self->model.replicas);
    if (kind == RETURN && step) operation->root = (int)draw(self, self->model.replicas + 1) - 1;
    operation->index = (int)draw(self, one_in(self, 10) ? 3 : 2);
    operation->axis_count = kind == REDUCE ? (int)draw(self, 3) : 0;
    operation->synchronization = (int)draw(self, one_in(self, 10) ? 4 : 3);
    operation->aggregation = (int)draw(self, one_in(self, 10) ? 5 : 4);
    const int32_t axes = one_in(self, 4) ? 4 : 1; // 4 is more than most tensors have
    for (int i = 0; i < 2; ++i) {
        const int for_rows = kind == ROWS || kind == ALL_REDUCE_ROWS || kind == STEP_ASSIGN_ROWS;
        operation->from[i] = for_rows ? draw_for_rows(self, block, i == 0) : draw_register(self, block, kind);
        operation->axes[i] = (int32_t)draw(self, 2 * (uint32_t)axes) - axes;
        operation->paths[i] = step && one_in(self, 2) ? NULL : draw_path(self);
        operation->destinations[i] = kDestinations[draw(self, one_in(self, 4) ? 5 : 3)];
    }
    if (kind == LITERAL || kind == NUMBERS || kind == CREATE || kind == STEP_CREATE)
        operation->literal = draw_literal(self, step);
    if (opens_block(operation)) operation->block = take_memory(sizeof *operation->block);
    return operation;
}

static int has_errors(const Generator *self, const Operation *operation) {
    for (uint32_t r = 0; r < self->model.replicas; ++r)
        if (operation->statuses[r] != MDIST_OK || (operation->kind == UPDATE && operation->inner[r] != MDIST_OK))
            return 1;
    return operation->kind == RETURN;
}

/// Tells whether an error is rare. Chance finds wrong arguments easily, but seldom calls that fail for other reasons.
static int is_rare(const Operation *operation) {
    const mdist_status_t status = operation->statuses[0];
    return status == MDIST_ERR_UNSUPPORTED || status == MDIST_ERR_FAILED_PRECONDITION || status == MDIST_ERR_MISMATCH;
}

/// Draws operations until the model can evaluate one; NULL after many attempts.
static Operation *draw_possible(Generator *self, Block *block) {
    for (int tries = 0; tries < 40; ++tries) {
        Operation *const operation = draw_operation(self, block);
        const Model before = self->model;
        const Block before_block = *block;
        if (!evaluate(&self->model, block, operation)) continue;
        const int step_ends = block->place == IN_STEP && block->failure != MDIST_OK;
        if (!has_errors(self, operation) || one_in(self, (step_ends ? 60 : 12) / (is_rare(operation) ? 4 : 1)))
            return operation;
        self->model = before;
        *block = before_block;
    }
    return NULL;
}

/// Draws what a merge hands on to the replicas.
static void draw_merge_results(Generator *self, Operation *merge) {
    merge->index = 0;
    for (int tries = 0; tries < 4 && merge->index < 2; ++tries) {
        const int which = (int)draw(self, REGISTERS);
        const Value *const value = &merge->block->registers[which];
        const int fits = value->there && !value->structured && whole_tensors(value) == MDIST_OK;
        if (fits || (self->model.workers == 1 && one_in(self, 20))) merge->axes[merge->index++] = which;
    }
}

static void fill_block(Generator *self, Block *block) {
    static const uint32_t kMost[] = {[IN_PROGRAM] = 9, [IN_STEP] = 8, [IN_MERGE] = 5};
    const int count = 3 + (int)draw(self, kMost[block->place]);
    while (block->count < count) {
        Operation *const operation = draw_possible(self, block);
        if (operation == NULL) return;
        block->operations[block->count++] = operation;
        if (!opens_block(operation) || operation->statuses[0] != MDIST_OK) continue;
        operation->block->place = operation->kind == RUN ? IN_STEP : IN_MERGE;
        operation->block->depth = block->depth + 1;
        fill_block(self, operation->block);
        if (operation->kind == MERGE) draw_merge_results(self, operation);
        close_block(&self->model, block, operation);
    }
}

/// Draws some of the replicas, in any order.
static Members draw_group(Generator *self, uint32_t replicas) {
    Members all = {.count = replicas};
    for (uint32_t r = 0; r < replicas; ++r) {
        const uint32_t at = draw(self, r + 1);
        all.members[r] = all.members[at];
        all.members[at] = r;
    }
    all.count = 1 + draw(self, replicas);
    return all;
}

Program *make_program(uint64_t seed, const Layout *layout) {
    forget_tensors();
    Program *const program = take_memory(sizeof *program);
    Generator self = {.state = seed * 1000003 + layout->workers * 101 + layout->replicas / layout->workers};
    program->seed = seed;
    program->layout = *layout;
    program->group_count = one_in(&self, 2) ? 0 : 1 + (int)draw(&self, MOST_GROUPS);
    for (int i = 0; i < program->group_count; ++i) program->groups[i] = draw_group(&self, layout->replicas);
    begin_model(&self.model, program);
    self.whole = one_in(&self, 2);
    self.row_count = draw(&self, 4);
    for (int i = 0; i < 2; ++i) {
        self.dtypes[i] = draw_dtype(&self);
        self.ranks[i] = (int32_t)draw(&self, 4);
        for (int d = 0; d < MOST_DIMENSIONS; ++d) self.shapes[i][d] = one_in(&self, 15) ? 0 : 1 + draw(&self, 3);
    }
    fill_block(&self, &program->block);
    return program;
}
