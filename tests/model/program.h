// SPDX-License-Identifier: Apache-2.0
// Program: what a test does with a strategy, as data. The model computes what each operation gives (model.h). The
// library performs it (perform.h). Both must agree.
//
// A block is a list of operations with its own registers:
// - the block of the program, or of a merge, is in cross-replica context. Its registers hold values;
// - the block of a step is run by every replica. Its registers hold what each replica has.
// An operation reads registers and variables, and writes registers of its own block. Whatever it finds there, the model
// can compute the outcome. So any list of operations is a program.
#pragma once

#include "tensor.h"

enum {
    REGISTERS = 6,
    MOST_LEAVES = 4,
    MOST_VARIABLES = 4,
    MOST_OPERATIONS = 12,
    MOST_GROUPS = 2,
    MOST_PATH = 16,
    DEEPEST = 4, // a merge within a run within a merge within a run
};

/// Which worker has which replicas.
typedef struct Layout {
    uint32_t workers, replicas;
    uint32_t first[MOST_REPLICAS + 1]; // first replica of each worker, then `replicas`
    int has_nccl;                      // each replica has a GPU of its own, so NCCL reduces in steps
} Layout;

/// Makes a layout with counts[i] replicas on worker i.
Layout layout_of(uint32_t workers, const uint32_t *counts);
uint32_t local_count(const Layout *layout, uint32_t worker);
/// Returns the first replica of the worker that has this one.
uint32_t first_beside(const Layout *layout, uint32_t replica);

/// Replicas with collectives of their own. Position i is members[i].
typedef struct Members {
    uint32_t count;
    uint32_t members[MOST_REPLICAS];
} Members;

/// The tensors that all replicas of the job have at one path of a value.
typedef struct Leaf {
    char path[MOST_PATH];
    mdist_value_kind_t kind; // a plain one has the same tensor for all replicas of one worker
    int has_rows;
    Tensor tensors[MOST_REPLICAS]; // by replica id
    Tensor indices[MOST_REPLICAS]; // if has_rows
} Leaf;

typedef struct Value {
    int there;
    int structured;
    int leaf_count; // a value without structure has 1, with the path ""
    Leaf leaves[MOST_LEAVES];
} Value;

typedef enum Kind {
    // In cross-replica context.
    LITERAL,   // makes a value of given numbers; `code`: by which call of the library
    STRUCTURE, // makes a structure of registers at paths
    AT,        // takes the leaf, or the part of the structure, at a path
    ROWS,      // makes a value of indices and rows
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
    COPY, // takes the replica's own copy of a variable
    ALL_REDUCE,
    BROADCAST,
    ALL_GATHER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    MESSAGES, // each replica receives from one of its choice, by a message; `code`: how
    ALL_REDUCE_ROWS,
    STEP_ASSIGN,
    STEP_ASSIGN_ROWS,
    STEP_CREATE,
    RESULT,
    MERGE,
    // In a step or a merge.
    MISPLACED, // makes a call that belongs in the other context; `code`: which one
    RETURN,    // one replica or the merge function returns a number other than 0
    KINDS
} Kind;

typedef enum Place { IN_PROGRAM, IN_MERGE, IN_STEP } Place;

typedef struct Operation Operation;

typedef struct Block {
    Place place;
    int depth;
    Operation *operations[MOST_OPERATIONS];
    int count;
    // While the model evaluates the block:
    Value registers[REGISTERS];
    Value arguments[2]; // of a step's run
    int argument_count;
    Value results[2]; // results of its run that a step has set so far
    int partly_set[2];
    mdist_status_t failure; // status of the run or merge function, once it has failed
} Block;

struct Operation {
    Kind kind;
    int dropped; // no longer part of the program
    int from[2], from_count;
    int to;
    int variable;
    int code;                        // a reduce or assign operation; other kinds say what it means
    int root;                        // a replica; -1: all
    int group;                       // of a collective, or -1: all replicas
    uint32_t sources[MOST_REPLICAS]; // of MESSAGES, by receiver
    int index;
    int32_t axes[2];
    int axis_count;
    const char *paths[2];
    const char *destinations[2];
    int synchronization, aggregation;
    Value literal;
    Block *block; // of RUN and MERGE

    // What the model computes.
    int skipped; // the model cannot tell the outcome, so it is not performed
    mdist_status_t statuses[MOST_REPLICAS];
    mdist_status_t inner[MOST_REPLICAS]; // status of the assignment in an update
    Value inputs[2];                     // what a step's operation reads
    Value results[2];
    Tensor copies[MOST_VARIABLES][MOST_REPLICAS]; // copies of all variables afterwards
};

typedef struct Program {
    uint64_t seed;
    Layout layout;
    Members groups[MOST_GROUPS];
    int group_count;
    Block block;
} Program;

/// Makes the program of a seed, for a job of that layout. The next call reuses its memory.
Program *make_program(uint64_t seed, const Layout *layout);
/// Prints the program in lines on stderr. Marks the operation `mark`, if it is not NULL.
void print_program(const Program *program, const Operation *mark);
const char *kind_name(Kind kind);
