// SPDX-License-Identifier: Apache-2.0
// The rules of values: what they hold, how structures are made, and reductions outside of steps.
#include "model.h"

#include <ctype.h>
#include <string.h>

// ---- Structures.

/// Compares paths by character. Positions come before names, in numeric order, since there are never more than ten.
static int compare_leaves(const Leaf *a, const Leaf *b) {
    return strcmp(a->path, b->path);
}

void sort_leaves(Value *value) {
    for (int i = 1; i < value->leaf_count; ++i)
        for (int k = i; k > 0 && compare_leaves(&value->leaves[k - 1], &value->leaves[k]) > 0; --k) {
            const Leaf leaf = value->leaves[k];
            value->leaves[k] = value->leaves[k - 1];
            value->leaves[k - 1] = leaf;
        }
}

/// Checks the entries right below `prefix`. They must be all names, or positions from 0 without gaps. None may be both
/// a leaf and a structure. Leaves are sorted.
static int place_is_sound(const Value *value, const char *prefix, size_t length) {
    int names = 0, positions = 0;
    const char *last = NULL;
    size_t last_length = 0;
    for (int i = 0; i < value->leaf_count; ++i) {
        const char *const path = value->leaves[i].path;
        if (strncmp(path, prefix, length) != 0) continue;
        const char *const name = path + length;
        const size_t name_length = strcspn(name, ".");
        const int again = last != NULL && last_length == name_length && strncmp(last, name, name_length) == 0;
        if (again && (last[last_length] == '\0' || name[name_length] == '\0')) return 0;
        if (!again && isdigit((unsigned char)*name) && *name - '0' != positions++) return 0;
        names += !again && !isdigit((unsigned char)*name);
        last = name;
        last_length = name_length;
    }
    return names == 0 || positions == 0;
}

int paths_make_a_tree(const Value *value) {
    for (int i = 0; i < value->leaf_count; ++i) {
        const char *const path = value->leaves[i].path;
        for (const char *dot = path; dot != NULL; dot = strchr(dot, '.')) {
            if (*dot == '.') ++dot;
            if (!place_is_sound(value, path, (size_t)(dot - path))) return 0;
        }
    }
    return 1;
}

int structure_values(const Value *values, const char *const *paths, int count, Value *out) {
    memset(out, 0, sizeof *out);
    if (count == 1 && *paths[0] == '\0') { // the value itself
        *out = values[0];
        return MDIST_OK;
    }
    out->there = out->structured = 1;
    for (int i = 0; i < count; ++i) {
        if (*paths[i] == '\0') return MDIST_ERR_INVALID_ARGUMENT; // "" cannot stand beside other paths
        for (int leaf = 0; leaf < values[i].leaf_count; ++leaf) {
            const char *const below = values[i].leaves[leaf].path;
            const char *const dot = values[i].structured ? "." : "";
            if (out->leaf_count == MOST_LEAVES || strlen(paths[i]) + strlen(below) + 2 > MOST_PATH) return SKIP;
            Leaf *const to = &out->leaves[out->leaf_count++];
            *to = values[i].leaves[leaf];
            memset(to->path, 0, sizeof to->path);
            strcat(strcat(strcat(to->path, paths[i]), dot), below);
        }
    }
    sort_leaves(out);
    return paths_make_a_tree(out) ? MDIST_OK : MDIST_ERR_INVALID_ARGUMENT;
}

static int is_below(const char *path, const char *top) {
    const size_t length = strlen(top);
    return strncmp(path, top, length) == 0 && path[length] == '.';
}

int value_at(const Value *value, const char *path, Value *out) {
    *out = *value;
    if (*path == '\0') return MDIST_OK;
    out->leaf_count = 0;
    for (int i = 0; i < value->leaf_count; ++i) {
        const Leaf *const leaf = &value->leaves[i];
        if (strcmp(leaf->path, path) == 0) {
            out->structured = 0;
            out->leaf_count = 1;
            out->leaves[0] = *leaf;
            memset(out->leaves[0].path, 0, MOST_PATH);
            return MDIST_OK;
        }
        if (!is_below(leaf->path, path)) continue;
        Leaf *const to = &out->leaves[out->leaf_count++];
        *to = *leaf;
        memset(to->path, 0, MOST_PATH);
        strcpy(to->path, leaf->path + strlen(path) + 1);
    }
    return out->leaf_count == 0 ? MDIST_ERR_NOT_FOUND : MDIST_OK;
}

int leaf_at(const Value *value, const char *path, int *leaf) {
    int below = 0;
    for (int i = 0; i < value->leaf_count; ++i) {
        if (strcmp(value->leaves[i].path, path) == 0) {
            *leaf = i;
            return MDIST_OK;
        }
        below += *path == '\0' || is_below(value->leaves[i].path, path);
    }
    // The path leads to the whole structure or to a part of it. That exists, but is no tensor.
    return below > 0 || *path == '\0' ? MDIST_ERR_INVALID_ARGUMENT : MDIST_ERR_NOT_FOUND;
}

int whole_tensors(const Value *value) {
    for (int i = 0; i < value->leaf_count; ++i)
        if (value->leaves[i].has_rows) return MDIST_ERR_UNSUPPORTED;
    return MDIST_OK;
}

int no_structure(const Value *value) {
    return value->structured ? MDIST_ERR_INVALID_ARGUMENT : MDIST_OK;
}

int check_rows_alike(const Tensor *indices, const Tensor *rows) {
    const int alike =
        indices->dtype == MDIST_INT64 && indices->rank == 1 && rows->rank > 0 && rows->shape[0] == indices->elements;
    return alike ? MDIST_OK : MDIST_ERR_INVALID_ARGUMENT;
}

int value_rows(const Model *model, const Value *indices, const Value *values, Value *out) {
    if (indices->structured || values->structured) return MDIST_ERR_INVALID_ARGUMENT;
    if (whole_tensors(indices) != MDIST_OK || whole_tensors(values) != MDIST_OK) return MDIST_ERR_UNSUPPORTED;
    *out = *values;
    Leaf *const leaf = &out->leaves[0];
    if (indices->leaves[0].kind != leaf->kind) return MDIST_ERR_INVALID_ARGUMENT;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        leaf->indices[r] = indices->leaves[0].tensors[r];
        if (check_rows_alike(&leaf->indices[r], &leaf->tensors[r]) != MDIST_OK)
            return model->workers == 1 ? MDIST_ERR_INVALID_ARGUMENT : SKIP; // it may be wrong on some workers only
    }
    leaf->has_rows = 1;
    return MDIST_OK;
}

// ---- Reductions.

/// Tells whether each replica has its own content.
static int differs_by_replica(const Leaf *leaf) {
    return leaf->kind == MDIST_VALUE_PER_REPLICA;
}

/// Bits are for integers and bool. A bool has no sum, product or mean.
static int is_defined(int op, int32_t dtype) {
    if (op < MDIST_SUM || op > MDIST_XOR) return 0;
    if (op >= MDIST_AND) return is_integer(dtype);
    return dtype != MDIST_BOOL || op == MDIST_MIN || op == MDIST_MAX;
}

int check_reduce_op(int op, int32_t dtype) {
    if (!is_defined(op, dtype)) return MDIST_ERR_INVALID_ARGUMENT;
    return op == MDIST_MEAN && is_integer(dtype) ? MDIST_ERR_INVALID_ARGUMENT : MDIST_OK;
}

/// Tells whether a content that is the same for all reduces to itself. SUM, PROD and XOR do not.
static int reduces_to_itself(int op, const Tensor *tensors) {
    if (!is_defined(op, tensors[0].dtype)) return MDIST_ERR_INVALID_ARGUMENT;
    return op != MDIST_SUM && op != MDIST_PROD && op != MDIST_XOR ? MDIST_OK : MDIST_ERR_INVALID_ARGUMENT;
}

static int all_alike_but(const Model *model, const Tensor *tensors, int32_t free) {
    for (uint32_t r = 1; r < model->replicas; ++r)
        if (!alike_but(&tensors[0], &tensors[r], free)) return 0;
    return 1;
}

/// Gives all replicas the same tensor.
static void give_all(const Model *model, Tensor *tensors, Tensor tensor) {
    for (uint32_t r = 0; r < model->replicas; ++r) tensors[r] = tensor;
}

static int too_large(const Model *model, const Tensor *tensors) {
    uint64_t elements = 0;
    for (uint32_t r = 0; r < model->replicas; ++r) elements += tensors[r].elements;
    return elements > MOST_ELEMENTS;
}

/// Reduces rows: the result is all of them, in replica order. MEAN divides each.
static int reduce_rows(const Model *model, int op, Leaf *leaf) {
    const int status = check_reduce_op(op, leaf->tensors[0].dtype);
    if (status != MDIST_OK) return status;
    if (op != MDIST_SUM && op != MDIST_MEAN) return MDIST_ERR_UNSUPPORTED;
    if (!differs_by_replica(leaf)) return reduces_to_itself(op, leaf->tensors);
    if (!all_alike_but(model, leaf->tensors, 0)) return MDIST_ERR_MISMATCH;
    if (too_large(model, leaf->tensors) || too_large(model, leaf->indices)) return SKIP;
    give_all(model, leaf->indices, join_tensors(leaf->indices, model->replicas, 0));
    Tensor all = join_tensors(leaf->tensors, model->replicas, 0);
    give_all(model, leaf->tensors, op == MDIST_MEAN ? divide_tensor(&all, model->replicas) : all);
    return MDIST_OK;
}

static int reduce_leaf(const Model *model, int op, Leaf *leaf) {
    if (leaf->has_rows) return reduce_rows(model, op, leaf);
    if (!differs_by_replica(leaf)) return reduces_to_itself(op, leaf->tensors);
    if (!all_alike_but(model, leaf->tensors, -1)) return MDIST_ERR_MISMATCH;
    const int status = check_reduce_op(op, leaf->tensors[0].dtype);
    if (status == MDIST_OK) give_all(model, leaf->tensors, reduce_tensors(op, leaf->tensors, model->replicas));
    return status;
}

/// Marks the dimensions that the axes name; negative ones count from the end.
static int mark_axes(const Operation *axes, int32_t rank, int *over) {
    for (int i = 0; i < axes->axis_count; ++i) {
        const int32_t axis = axes->axes[i];
        if (axis < -rank || axis >= rank) return MDIST_ERR_INVALID_ARGUMENT;
        int *const mark = &over[axis < 0 ? axis + rank : axis];
        if (*mark) return MDIST_ERR_INVALID_ARGUMENT;
        *mark = 1;
    }
    return MDIST_OK;
}

/// Reduces a leaf over axes. A mirrored value counts once for each replica; a plain one is reduced by itself.
static int reduce_leaf_over(const Model *model, int op, const Operation *axes, Leaf *leaf) {
    int over[MOST_DIMENSIONS] = {0};
    if (leaf->has_rows) return MDIST_ERR_UNSUPPORTED;
    if (!is_defined(op, leaf->tensors[0].dtype)) return MDIST_ERR_INVALID_ARGUMENT;
    const int status = mark_axes(axes, leaf->tensors[0].rank, over);
    if (status != MDIST_OK) return status;
    for (uint32_t r = 1; r < model->replicas; ++r) {
        const Tensor *const first = &leaf->tensors[0], *const tensor = &leaf->tensors[r];
        if (tensor->rank != first->rank) return MDIST_ERR_MISMATCH;
        for (int32_t d = 0; d < first->rank; ++d)
            if (!over[d] && tensor->shape[d] != first->shape[d]) return MDIST_ERR_MISMATCH;
    }
    if (leaf->kind != MDIST_VALUE_PLAIN || differs_by_replica(leaf)) {
        give_all(model, leaf->tensors, reduce_dimensions(op, leaf->tensors, model->replicas, over));
        return MDIST_OK;
    }
    for (uint32_t r = 0; r < model->replicas; ++r) leaf->tensors[r] = reduce_dimensions(op, &leaf->tensors[r], 1, over);
    return reduces_to_itself(op, leaf->tensors);
}

int reduce_value(const Model *model, int op, const Value *value, const Operation *axes, int everywhere, Value *out) {
    if (op < MDIST_SUM || op > MDIST_XOR) return MDIST_ERR_INVALID_ARGUMENT;
    *out = *value;
    for (int i = 0; i < out->leaf_count; ++i) {
        Leaf *const leaf = &out->leaves[i];
        const int status = axes != NULL ? reduce_leaf_over(model, op, axes, leaf) : reduce_leaf(model, op, leaf);
        if (status != MDIST_OK) return status;
        leaf->kind = everywhere ? MDIST_VALUE_MIRRORED : MDIST_VALUE_PLAIN;
    }
    return MDIST_OK;
}

/// Joins along an axis, in replica order. A tensor that is the same for all counts once per replica.
int gather_value(const Model *model, const Value *value, int32_t axis, Value *out) {
    *out = *value;
    for (int i = 0; i < out->leaf_count; ++i) {
        Leaf *const leaf = &out->leaves[i];
        const int32_t rank = leaf->tensors[0].rank, along = axis < 0 ? axis + rank : axis;
        if (leaf->has_rows) return MDIST_ERR_UNSUPPORTED;
        if (along < 0 || along >= rank) return MDIST_ERR_INVALID_ARGUMENT; // scalars have none
        if (!all_alike_but(model, leaf->tensors, along)) return MDIST_ERR_MISMATCH;
        if (too_large(model, leaf->tensors)) return SKIP;
        give_all(model, leaf->tensors, join_tensors(leaf->tensors, model->replicas, along));
        leaf->kind = MDIST_VALUE_PLAIN;
    }
    return MDIST_OK;
}

/// Checks a destination. The devices of this strategy are "cpu:0" and so on. NULL stands for the devices that the value
/// came from.
int check_destination(const Model *model, const char *destination) {
    if (destination == NULL || *destination == '\0') return MDIST_OK;
    const int index = strncmp(destination, "cpu:", 4) == 0 ? destination[4] - '0' : -1;
    uint32_t have_it = 0; // workers
    for (uint32_t worker = 0; worker < model->workers; ++worker)
        have_it += index >= 0 && (uint32_t)index < local_count(&model->layout, worker);
    return have_it == model->workers ? MDIST_OK : have_it == 0 ? MDIST_ERR_INVALID_ARGUMENT : SKIP;
}

int fetch_value(const Model *model, const Operation *operation, const Value *value, Value *out) {
    int status = check_destination(model, operation->destinations[0]);
    if (status == MDIST_OK) status = no_structure(value);
    if (status == MDIST_OK) status = whole_tensors(value);
    if (status != MDIST_OK) return status;
    *out = *value;
    if (out->leaves[0].kind == MDIST_VALUE_PER_REPLICA) return MDIST_ERR_INVALID_ARGUMENT;
    out->leaves[0].kind = MDIST_VALUE_PLAIN;
    return operation->code != 0 ? MDIST_ERR_CALLBACK : MDIST_OK;
}
