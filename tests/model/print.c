// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <stdio.h>
#include <string.h>

static const char *const kNames[KINDS] = {
    [LITERAL] = "literal",
    [STRUCTURE] = "structure",
    [AT] = "at",
    [ROWS] = "rows",
    [REDUCE] = "reduce",
    [REDUCE_TO] = "reduce_to",
    [BATCH_REDUCE_TO] = "batch_reduce_to",
    [GATHER] = "gather",
    [FETCH] = "fetch",
    [CREATE] = "variable_create",
    [ASSIGN] = "variable_assign",
    [READ] = "variable_read",
    [UPDATE] = "update",
    [RUN] = "run",
    [ARGUMENT] = "argument",
    [NUMBERS] = "numbers",
    [COPY] = "own copy",
    [ALL_REDUCE] = "all_reduce",
    [BROADCAST] = "broadcast",
    [ALL_GATHER] = "all_gather",
    [REDUCE_SCATTER] = "reduce_scatter",
    [ALL_TO_ALL] = "all_to_all",
    [MESSAGES] = "messages",
    [ALL_REDUCE_ROWS] = "all_reduce_rows",
    [STEP_ASSIGN] = "replica_assign",
    [STEP_ASSIGN_ROWS] = "replica_assign_rows",
    [STEP_CREATE] = "replica_variable_create",
    [RESULT] = "set_result",
    [MERGE] = "merge",
    [MISPLACED] = "what belongs elsewhere",
    [RETURN] = "return",
};

const char *kind_name(Kind kind) {
    return kNames[kind];
}

static const char *word(int number, const char *const *words, int count) {
    return number >= 0 && number < count ? words[number] : "?";
}

static void print_tensor(const Tensor *tensor) {
    fprintf(stderr, " %s[", mdist_dtype_name((mdist_dtype_t)tensor->dtype));
    for (int32_t d = 0; d < tensor->rank; ++d)
        fprintf(stderr, "%s%llu", d == 0 ? "" : ",", (unsigned long long)tensor->shape[d]);
    fprintf(stderr, "]{");
    for (uint64_t i = 0; i < tensor->elements && i < 6; ++i) {
        if (is_integer(tensor->dtype))
            fprintf(stderr, "%s%lld", i == 0 ? "" : " ", (long long)tensor->numbers[i].whole);
        else
            fprintf(stderr, "%s%.9g", i == 0 ? "" : " ", tensor->numbers[i].real);
    }
    fprintf(stderr, tensor->elements > 6 ? " ...}" : "}");
}

static void print_value(const Value *value, uint32_t replicas) {
    static const char *const kKinds[] = {"", "plain", "mirrored", "per replica"};
    for (int i = 0; i < value->leaf_count; ++i) {
        const Leaf *const leaf = &value->leaves[i];
        fprintf(stderr, " %s%s%s", leaf->path, *leaf->path == '\0' ? "" : ": ", word((int)leaf->kind, kKinds, 4));
        for (uint32_t r = 0; r < (leaf->kind == MDIST_VALUE_MIRRORED ? 1 : replicas); ++r) {
            if (leaf->has_rows) print_tensor(&leaf->indices[r]);
            print_tensor(&leaf->tensors[r]);
        }
    }
}

/// Prints the parameters that an operation of this kind uses.
static void print_parameters(const Operation *operation) {
    static const char *const kAssigns[] = {"0", "SET", "ADD", "SUB", "MUL", "DIV", "MIN", "MAX"};
    static const char *const kOps[] = {"0", "SUM", "MEAN", "MIN", "MAX", "PROD", "AND", "OR", "XOR"};
    static const char *const kSynchronizations[] = {"AUTO", "ON_WRITE", "ON_READ"};
    static const char *const kAggregations[] = {"NONE", "SUM", "MEAN", "ONLY_FIRST"};
    const Kind kind = operation->kind;
    for (int i = 0; i < operation->from_count; ++i) fprintf(stderr, " r%d", operation->from[i]);
    if (kind == CREATE || kind == STEP_CREATE)
        fprintf(stderr, " %s %s", word(operation->synchronization, kSynchronizations, 3),
                word(operation->aggregation, kAggregations, 4));
    if (kind == ASSIGN || kind == UPDATE || kind == STEP_ASSIGN || kind == STEP_ASSIGN_ROWS)
        fprintf(stderr, " %s", word(operation->code, kAssigns, 8));
    if ((kind >= REDUCE && kind <= BATCH_REDUCE_TO) || kind == ALL_REDUCE || kind == REDUCE_SCATTER ||
        kind == ALL_REDUCE_ROWS)
        fprintf(stderr, " %s", word(operation->code, kOps, 9));
    if (kind == RETURN || kind == MISPLACED || kind == FETCH) fprintf(stderr, " %d", operation->code);
    if (kind == BROADCAST || kind == RETURN || kind == RESULT) fprintf(stderr, " replica %d", operation->root);
    if (kind == ARGUMENT || kind == RESULT || kind == MERGE) fprintf(stderr, " %d", operation->index);
    const int axes = kind == REDUCE ? operation->axis_count : kind == GATHER ? 1 : kind == MERGE ? operation->index : 0;
    for (int i = 0; i < axes; ++i) fprintf(stderr, kind == MERGE ? " of r%d" : " axis %d", operation->axes[i]);
    const int paths = kind == STRUCTURE ? operation->from_count : kind == AT || kind == ARGUMENT || kind == RESULT;
    for (int i = 0; i < paths; ++i)
        if (operation->paths[i] != NULL) fprintf(stderr, " \"%s\"", operation->paths[i]);
    const int destinations = kind == BATCH_REDUCE_TO ? 2 : kind == REDUCE_TO || kind == FETCH;
    for (int i = 0; i < destinations; ++i)
        fprintf(stderr, " to \"%s\"", operation->destinations[i] == NULL ? "" : operation->destinations[i]);
}

static void print_who(const Operation *operation, uint32_t replicas) {
    if (operation->kind >= ALL_REDUCE && operation->kind <= ALL_TO_ALL && operation->group >= 0)
        fprintf(stderr, " in g%d", operation->group);
    if (operation->kind != MESSAGES) return;
    fprintf(stderr, " %d from", operation->code);
    for (uint32_t r = 0; r < replicas; ++r) fprintf(stderr, " %u", operation->sources[r]);
}

static void print_block(const Block *block, uint32_t replicas, const Operation *mark, int indent) {
    for (int i = 0; i < block->count; ++i) {
        const Operation *const operation = block->operations[i];
        if (operation->dropped || operation->skipped) continue;
        const Kind kind = operation->kind;
        const int variable =
            (kind >= CREATE && kind <= UPDATE) || (kind >= STEP_ASSIGN && kind <= STEP_CREATE) || kind == COPY;
        fprintf(stderr, "%s%*s%s", operation == mark ? "-> " : "   ", indent, "", kind_name(kind));
        if (variable) fprintf(stderr, " v%d", operation->variable);
        print_parameters(operation);
        print_who(operation, replicas);
        if (operation->literal.there) print_value(&operation->literal, replicas);
        const mdist_status_t status = operation->statuses[0];
        if (status != MDIST_OK) {
            for (uint32_t r = 0; r < (block->place == IN_STEP ? replicas : 1); ++r)
                fprintf(stderr, " %s", mdist_status_name(operation->statuses[r]) + strlen("MDIST_"));
        } else if (operation->results[0].there || operation->results[1].there) {
            fprintf(stderr, " => r%d", operation->to);
        }
        fprintf(stderr, "\n");
        if (operation->block != NULL) print_block(operation->block, replicas, mark, indent + 4);
    }
}

void print_program(const Program *program, const Operation *mark) {
    fprintf(stderr, "program %llu, %u workers of", (unsigned long long)program->seed, program->layout.workers);
    for (uint32_t worker = 0; worker < program->layout.workers; ++worker)
        fprintf(stderr, "%s%u", worker == 0 ? " " : "+", local_count(&program->layout, worker));
    fprintf(stderr, " replicas:\n");
    for (int i = 0; i < program->group_count; ++i) {
        fprintf(stderr, "   g%d = {", i);
        for (uint32_t m = 0; m < program->groups[i].count; ++m)
            fprintf(stderr, m == 0 ? "%u" : ", %u", program->groups[i].members[m]);
        fprintf(stderr, "}\n");
    }
    print_block(&program->block, program->layout.replicas, mark, 0);
}
