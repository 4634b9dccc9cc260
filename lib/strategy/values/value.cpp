// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/value.h"

#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

Value::Value(mdist_value_kind_t kind, std::vector<Tensor> tensors, std::vector<Tensor> indices)
    : kind_(kind), count_(tensors.size()), indices_(std::move(indices)) {
    if (count_ == 1)
        only_ = std::move(tensors[0]);
    else
        several_ = std::move(tensors);
}

Value::Value(Tensor &&tensor) : kind_(MDIST_VALUE_PLAIN), count_(1), only_(std::move(tensor)) {}

Value::Value(std::vector<Leaf> leaves) : kind_(MDIST_VALUE_STRUCTURE), leaves_(std::move(leaves)) {}

std::shared_ptr<Value> Value::plain(Tensor tensor) {
    return std::make_shared<Value>(std::move(tensor));
}

std::shared_ptr<Value> Value::mirrored(std::vector<Tensor> tensors) {
    return std::make_shared<Value>(MDIST_VALUE_MIRRORED, std::move(tensors));
}

std::shared_ptr<Value> Value::per_replica(std::vector<Tensor> tensors, const char *what) {
    for (std::size_t i = 1; i < tensors.size(); ++i)
        if (tensors[i].dtype() != tensors[0].dtype())
            throw Failure(MDIST_ERR_MISMATCH, text(what, " is ", dtype_name(tensors[0].dtype()),
                                                   " on local replica 0 and ", dtype_name(tensors[i].dtype()),
                                                   " on local replica ", i, "; use the same type on all replicas"))
                .reason("different_dtypes");
    return std::make_shared<Value>(MDIST_VALUE_PER_REPLICA, std::move(tensors));
}

void Value::check_no_rows(std::ptrdiff_t argument) const {
    if (!has_rows()) return;
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  text(argument < 0 ? std::string("the value") : text("argument ", argument),
                       " holds rows of larger tensors, but this call needs complete tensors; pass indices and rows as "
                       "separate values, or reduce or assign the rows first"));
}

const Tensor &Value::tensor_at(std::size_t index) const {
    if (is_structure()) throw refused("the value");
    if (index >= count_) throw invalid(text("index is ", index, "; this value has ", count_, " tensors"));
    return tensors()[index];
}

void Value::check_count(std::size_t local_replicas, std::ptrdiff_t argument) const {
    if (kind_ == MDIST_VALUE_PLAIN || (count_ == local_replicas && !is_structure())) return;
    const std::string what = argument < 0 ? "the value" : text("argument ", argument);
    if (is_structure()) throw refused(what);
    throw invalid(
        text(what, " has ", count_, " tensors, one for each local replica, but this strategy has ", local_replicas));
}

Failure Value::refused(const std::string &what) const {
    return invalid(
        text(what, " is a structure (", leaves_text(leaves_),
             "), but this call needs a tensor. Get one of its leaves with mdist_value_at or mdist_replica_argument"));
}

const char *kind_text(mdist_value_kind_t kind) {
    switch (kind) {
        case MDIST_VALUE_PLAIN:
            return "plain";
        case MDIST_VALUE_MIRRORED:
            return "mirrored";
        case MDIST_VALUE_PER_REPLICA:
            return "per-replica";
        default:
            return "structured";
    }
}

std::string leaves_text(const std::vector<Leaf> &leaves) {
    constexpr std::size_t kShown = 4;
    if (leaves.empty()) return "no leaves";
    std::string out;
    for (std::size_t i = 0; i < std::min(leaves.size(), kShown); ++i)
        out += text(i == 0 ? "\"" : ", \"", leaves[i].path, '"');
    return leaves.size() > kShown ? text(out, " and ", leaves.size() - kShown, " more") : out;
}

} // namespace mdist
