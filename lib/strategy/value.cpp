// SPDX-License-Identifier: Apache-2.0
#include "strategy/value.h"

#include "strategy/rows.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

const char *kind_name(mdist_value_kind_t kind) {
    return kind == MDIST_VALUE_PLAIN ? "plain" : kind == MDIST_VALUE_MIRRORED ? "mirrored" : "per-replica";
}

} // namespace

std::shared_ptr<Value> Value::plain(Tensor tensor) {
    std::vector<Tensor> one;
    one.push_back(std::move(tensor));
    return std::make_shared<Value>(MDIST_VALUE_PLAIN, std::move(one));
}

std::shared_ptr<Value> Value::mirrored(std::vector<Tensor> tensors) {
    return std::make_shared<Value>(MDIST_VALUE_MIRRORED, std::move(tensors));
}

std::shared_ptr<Value> Value::per_replica(std::vector<Tensor> tensors, const char *what) {
    for (std::size_t i = 1; i < tensors.size(); ++i)
        if (tensors[i].dtype() != tensors[0].dtype())
            throw Failure(MDIST_ERR_MISMATCH,
                          text(what, " is ", dtype_name(tensors[0].dtype()), " on local replica 0 and ",
                               dtype_name(tensors[i].dtype()), " on local replica ", i, "; it must be one type"))
                .reason("different_dtypes");
    return std::make_shared<Value>(MDIST_VALUE_PER_REPLICA, std::move(tensors));
}

std::shared_ptr<Value> Value::rows(const Value &indices, const Value &values) {
    indices.check_whole();
    values.check_whole();
    if (indices.kind_ != values.kind_ || indices.tensors_.size() != values.tensors_.size())
        throw invalid(text("the indices are a ", kind_name(indices.kind_), " value of ", indices.tensors_.size(),
                           " tensors and the rows a ", kind_name(values.kind_), " value of ", values.tensors_.size(),
                           "; they must be of one kind"));
    for (std::size_t i = 0; i < values.tensors_.size(); ++i) Rows{indices.tensors_[i], values.tensors_[i]}.check();
    const auto made = std::make_shared<Value>(values.kind_, values.tensors_);
    made->indices_ = indices.tensors_;
    return made;
}

void Value::check_whole(std::ptrdiff_t argument) const {
    if (!has_rows()) return;
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  text(argument < 0 ? std::string("the value") : text("argument ", argument),
                       " holds rows of larger tensors, and this call takes whole ones; give it indices and rows as "
                       "values of their own, or reduce or assign the rows first"));
}

const Tensor &Value::tensor_at(std::size_t index) const {
    if (index >= tensors_.size())
        throw invalid(text("index is ", index, "; this value has ", tensors_.size(), " tensors"));
    return tensors_[index];
}

void Value::check_count(std::size_t local_replicas, std::ptrdiff_t argument) const {
    if (kind_ == MDIST_VALUE_PLAIN || tensors_.size() == local_replicas) return;
    throw invalid(text(argument < 0 ? std::string("the value") : text("argument ", argument), " has ", tensors_.size(),
                       " tensors, one for each local replica, and this strategy has ", local_replicas));
}

} // namespace mdist
