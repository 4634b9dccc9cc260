// SPDX-License-Identifier: Apache-2.0
// Reduces values: finds the leaves that need other replicas, and reduces all of those in one operation.
#include "comm/call/check.h"
#include "device/transfer/transfer.h"
#include "strategy/values/cross.h"
#include "strategy/values/rows.h"
#include "strategy/values/structure.h"
#include "util/fnv.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

/// A leaf of one of the values.
struct Item {
    const Value *leaf;
    const std::string *path;
    Target target;
    ValuePointer result; // nullptr until it is known
};

ValuePointer placed(Job &job, const Tensor &tensor, Target target) {
    return target.is_everywhere() ? broadcast_value(job, tensor) : Value::plain(copied_to(target.device(), tensor));
}

/// Reduces rows by gathering all of them.
ValuePointer reduce_rows(Job &job, const Asker &asker, int32_t op, const Value &leaf, Target target) {
    check_rows_op(op, leaf.tensors()[0].dtype());
    Rows all = rows_for(leaf, 0);
    if (differs_by_replica(leaf)) {
        const std::string subject = text(asker.subject, op == MDIST_MEAN ? "MEAN, " : "SUM, ", all.text(),
                                         target.is_everywhere() ? " everywhere, " : ", ");
        std::vector<Tensor> indices;
        for (uint32_t i = 0; i < leaf.tensors().size(); ++i) indices.push_back(leaf.indices_for(i));
        all = {gather_tensors(job, asker.with(subject + "indices, "), indices, 0),
               gather_tensors(job, asker.with(subject), leaf.tensors(), 0)};
        if (op == MDIST_MEAN) divide_rows(*host(), all, job.replicas.count());
    } else {
        require_reduces_to_itself(op, leaf.kind(), all.values);
    }
    return value_of_rows(*placed(job, all.indices, target), *placed(job, all.values, target));
}

/// Reduces rows, and leaves that need no other replica, at once. Checks the other leaves.
Item item_of(Job &job, const Asker &asker, int32_t op, const Value &value, const Value &leaf, std::size_t index,
             Target target) {
    leaf.check_count(job.reach.view().replicas);
    Item item{&leaf, &leaf_path(value, index), target, nullptr};
    if (leaf.has_rows()) {
        item.result = reduce_rows(job, of_leaf(asker, value, index), op, leaf, target);
        return item;
    }
    check_reduces(op, leaf);
    if (!differs_by_replica(leaf)) item.result = placed(job, leaf.tensors()[0], target);
    return item;
}

/// The asker for these leaves. All workers must have the same paths and shapes; the first few are named in words.
Asker asker_for(const Asker &asker, const char *where, const std::vector<Item *> &items) {
    constexpr std::size_t kShown = 4;
    std::string words = where;
    uint64_t detail = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Shape &shape = items[i]->leaf->tensors()[0].shape();
        if (i < kShown) {
            if (i != 0) words += "; ";
            if (!items[i]->path->empty()) words += text('"', *items[i]->path, "\" ");
            words += shape.text();
        }
        detail = detail * 31 + fnv1a(*items[i]->path) * 7 + static_cast<uint64_t>(shape.rank);
        for (int32_t dim = 0; dim < shape.rank; ++dim) detail = detail * 31 + shape.dims[dim];
    }
    if (items.size() > kShown) words += text("; and ", items.size() - kShown, " more");
    Asker named = asker.with(std::move(words));
    named.detail = detail;
    return named;
}

/// Those of the items that need other replicas, with their results everywhere or not.
std::vector<Item *> waiting(std::vector<Item> &items, bool everywhere) {
    std::vector<Item *> some;
    for (Item &item : items)
        if (item.result == nullptr && item.target.is_everywhere() == everywhere) some.push_back(&item);
    return some;
}

std::vector<std::span<const Tensor>> tensors_of(const std::vector<Item *> &items) {
    std::vector<std::span<const Tensor>> tensors;
    for (const Item *item : items) tensors.push_back(item->leaf->tensors());
    return tensors;
}

void reduce_everywhere(Job &job, const Asker &asker, int32_t op, const std::vector<Item *> &items) {
    if (items.empty()) return;
    std::vector<ValuePointer> results =
        all_reduce_many(job, asker_for(asker, "everywhere, ", items), op, tensors_of(items));
    for (std::size_t b = 0; b < items.size(); ++b) items[b]->result = std::move(results[b]);
}

void reduce_to_devices(Job &job, const Asker &asker, int32_t op, const std::vector<Item *> &items) {
    if (items.empty()) return;
    const std::vector<Tensor> results = reduce_many(job, asker_for(asker, "", items), op, tensors_of(items));
    for (std::size_t b = 0; b < items.size(); ++b)
        items[b]->result = Value::plain(brought_to(items[b]->target.device(), results[b]));
}

/// Makes values of the items' results.
std::vector<ValuePointer> results_of(const std::vector<const Value *> &values, std::vector<Item> &items) {
    auto next = items.begin();
    std::vector<ValuePointer> results;
    results.reserve(values.size());
    for (const Value *value : values)
        results.push_back(map_leaves(*value, [&](const Value &, std::size_t) { return std::move((next++)->result); }));
    return results;
}

/// Whether reducing what is the same on all replicas gives it back.
bool gives_back(int32_t op) {
    return op != MDIST_SUM && op != MDIST_PROD && op != MDIST_XOR;
}

} // namespace

void require_reduces_to_itself(int32_t op, mdist_value_kind_t kind, const Tensor &tensor) {
    check_op_defined(op, tensor.dtype());
    if (gives_back(op)) return;
    throw invalid(
        text(op_name(op), " needs a per-replica value; this one is ", kind == MDIST_VALUE_PLAIN ? "plain" : "mirrored",
             ", the same on all replicas. Pass a per-replica value, or use MEAN, which returns it unchanged"));
}

bool reduces_with_others(const Job &job, int32_t op, const Value &value, bool over_axes) {
    bool any = !gives_back(op);
    visit_leaves(value, [&](const Value &leaf, std::size_t) {
        any = any || (over_axes && leaf.kind() != MDIST_VALUE_PLAIN) || differs_by_replica(leaf);
    });
    return any && job.reach.view().workers > 1;
}

std::vector<ValuePointer> reduce_values(Job &job, const Asker &asker, int32_t op,
                                        const std::vector<const Value *> &values, const std::vector<Target> &targets) {
    check_op(op);
    std::vector<Item> items;
    for (std::size_t i = 0; i < values.size(); ++i)
        visit_leaves(*values[i], [&](const Value &leaf, std::size_t index) {
            items.push_back(item_of(job, asker, op, *values[i], leaf, index, targets[i]));
        });
    const std::vector<Item *> everywhere = waiting(items, true), to_one = waiting(items, false);
    reduce_everywhere(job, asker, op, everywhere);
    reduce_to_devices(job, asker, op, to_one);
    return results_of(values, items);
}

ValuePointer reduce_value_axes(Job &job, const Asker &asker, int32_t op, const Value &value,
                               const std::vector<int32_t> &axes) {
    check_op(op);
    return map_leaves(value, [&](const Value &leaf, std::size_t index) {
        leaf.check_count(job.reach.view().replicas);
        leaf.check_no_rows();
        const bool alone = leaf.kind() == MDIST_VALUE_PLAIN;
        check_op_defined(op, leaf.tensors()[0].dtype());
        Tensor reduced =
            reduce_axes(alone ? nullptr : job.workers(), of_leaf(asker, value, index), op, leaf.tensors(), axes);
        if (alone) require_reduces_to_itself(op, leaf.kind(), reduced);
        return Value::plain(std::move(reduced));
    });
}

void check_reduces(int32_t op, const Value &leaf) {
    const Tensor &first = leaf.tensors()[0];
    if (leaf.has_rows()) return check_rows_op(op, first.dtype());
    if (!differs_by_replica(leaf)) return require_reduces_to_itself(op, leaf.kind(), first);
    require_alike(leaf.tensors());
    check_op_takes(op, first.dtype());
}

ValuePointer mirror_value(Job &job, const ValuePointer &value) {
    const auto mirror = [&](const Value &leaf, std::size_t index) -> ValuePointer {
        leaf.check_count(job.reach.view().replicas);
        leaf.check_no_rows();
        if (leaf.kind() == MDIST_VALUE_MIRRORED) return value->is_structure() ? value->leaves()[index].value : value;
        if (leaf.kind() == MDIST_VALUE_PLAIN) return broadcast_value(job, leaf.tensors()[0]);
        throw invalid(
            "a per-replica value cannot be mirrored, since it differs between replicas; reduce it "
            "(mdist_strategy_reduce_to), "
            "or mirror one of its tensors (mdist_strategy_broadcast)");
    };
    return map_leaves(*value, mirror);
}

Asker of_leaf(const Asker &asker, const Value &value, std::size_t index) {
    if (!value.is_structure()) return asker;
    return asker.with(text('"', leaf_path(value, index), "\", leaf ", index + 1, " of ", value.leaves().size(), ", "));
}

} // namespace mdist
