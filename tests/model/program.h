// SPDX-License-Identifier: Apache-2.0
// Programs: what a test does with a strategy, as data. The model says what each operation gives (model.h), the library
// performs them (perform.h), and both must agree.
//
// A block is a list of operations with registers of its own. That of the program, and that of a merge, is in
// cross-replica context: registers hold values. That of a step is run by every replica: registers hold what each
// replica has. An operation reads registers and variables, and writes some of its own block; whatever it finds there,
// the model knows what comes of it, so that any list of operations is a program.
#pragma once

#include "tensor.h"

enum {
    REGISTERS = 6,
    MOST_LEAVES = 4,
    MOST_VARIABLES = 4,
    MOST_OPERATIONS = 12,
    MOST_PATH = 16,
    DEEPEST = 4, // a merge within a run within a merge within a run
};

/// What all replicas of the job have at one place.
typedef struct Leaf {
    char path[MOST_PATH];
    mdist_value_kind_t kind; // a plain one has the same tensor for all replicas of one worker
    int has_rows;
    Tensor tensors[MOST_REPLICAS]; // by replica id
    Tensor indices[MOST_REPLICAS]; // of rows
} Leaf;

typedef struct Value {
    int there;
    int structured;
    int leaf_count; // of a value without structure: 1, with the path ""
    Leaf leaves[MOST_LEAVES];
} Value;

typedef enum Kind {
    // In cross-replica context.
    LITERAL,   // a value of given numbers; `code`: which of the library's ways
    STRUCTURE, // of registers at paths
    AT,        // the leaf, or what lies below, at a path
    ROWS,      // of indices and rows
    REDUCE,
    REDUCE_TO,
    BATCH_REDUCE_TO,
    GATHER,
    FETCH,
    CREATE,
    ASSIGN,
    READ,
    UPDATE,
    RUN,
    // In a step.
    ARGUMENT,
    NUMBERS,
    COPY, // the replica's own copy of a variable
    ALL_REDUCE,
    BROADCAST,
    ALL_GATHER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    ALL_REDUCE_ROWS,
    STEP_ASSIGN,
    STEP_ASSIGN_ROWS,
    STEP_CREATE,
    RESULT,
    MERGE,
    // In a step or a merge.
    MISPLACED, // a call that belongs into the other context; `code`: which
    RETURN,    // a number other than 0, by one replica or by the merge function
    KINDS
} Kind;

typedef enum Place { IN_PROGRAM, IN_MERGE, IN_STEP } Place;

typedef struct Operation Operation;

typedef struct Block {
    Place place;
    int depth;
    Operation *operations[MOST_OPERATIONS];
    int count;
    // While the model is in it:
    Value registers[REGISTERS];
    Value arguments[2]; // of a step's run
    int argument_count;
    Value results[2]; // what a step has set of its run's results
    int partly_set[2];
    mdist_status_t failure; // of the run or merge function, once it has failed
} Block;

struct Operation {
    Kind kind;
    int dropped; // no part of the program any more
    int from[2], from_count;
    int to;
    int variable;
    int code; // a reduce or assign operation, or as the kind says
    int root; // a replica; -1: all
    int index;
    int32_t axes[2];
    int axis_count;
    const char *paths[2];
    const char *destinations[2];
    int synchronization, aggregation;
    Value literal;
    Block *block; // of RUN and MERGE

    // What the model says of it.
    int skipped; // it cannot be said, so nobody does it
    mdist_status_t statuses[MOST_REPLICAS];
    mdist_status_t inner[MOST_REPLICAS]; // of the assignment in an update
    Value inputs[2];                     // what a step's operation reads
    Value results[2];
    Tensor copies[MOST_VARIABLES][MOST_REPLICAS]; // of all variables, afterwards
};

typedef struct Program {
    uint64_t seed;
    uint32_t workers, locals; // replicas are numbered by worker
    Block block;
} Program;

/// The program of a seed, for a job of that many workers with so many replicas each. One at a time: the next takes its
/// memory.
Program *make_program(uint64_t seed, uint32_t workers, uint32_t locals);
/// As lines on stderr. `mark`, if it is not NULL, is pointed at.
void print_program(const Program *program, const Operation *mark);
const char *kind_name(Kind kind);
