// SPDX-License-Identifier: Apache-2.0
// Sends replica 0's tensors to all workers. Their types and shapes go first, since other workers' tensors may differ.
#include "comm/workers/workers.h"
#include "device/transfer/transfer.h"
#include "strategy/values/cross.h"
#include "strategy/values/structure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// What is sent ahead of a tensor.
struct Header {
    explicit Header(const Tensor &tensor) : dtype(tensor.dtype()), rank(tensor.shape().rank) {
        std::copy_n(tensor.shape().dims, MDIST_MAX_RANK, dims);
    }
    Tensor allocate() const {
        Shape shape;
        shape.rank = rank;
        std::copy_n(dims, MDIST_MAX_RANK, shape.dims);
        return Tensor::allocate(*host(), dtype, shape);
    }

    int32_t dtype;
    int32_t rank;
    uint64_t dims[MDIST_MAX_RANK];
};

/// Returns the headers of worker 0's leaves. All workers have leaves at the same paths, so the same number of them.
std::vector<Header> headers_of_first(Workers &workers, const Asker &asker, std::span<const Tensor> own,
                                     const std::string &subject) {
    std::vector<Header> headers;
    for (const Tensor &tensor : own) headers.emplace_back(tensor);
    workers.broadcast(call_about(&asker.function->meet, subject), headers.data(), headers.size() * sizeof(Header),
                      asker.timeout_ns);
    return headers;
}

} // namespace

ValuePointer first_value(Job &job, const Asker &asker, const Value &value) {
    std::vector<Tensor> tensors;
    std::string paths = asker.subject;
    visit_leaves(value, [&](const Value &leaf, std::size_t index) {
        leaf.check_count(job.reach.view().replicas);
        leaf.check_no_rows();
        tensors.push_back(leaf.tensors()[0]);
        paths += text(index == 0 ? " \"" : ", \"", leaf_path(value, index), '"');
    });
    std::vector<Header> headers;
    Workers *const workers = job.workers();
    if (workers != nullptr) headers = headers_of_first(*workers, asker, tensors, paths);
    return map_leaves(value, [&](const Value &, std::size_t index) {
        const Tensor &own = tensors[index];
        if (workers == nullptr) return Value::plain(copied_to(*host(), own));
        Tensor theirs = headers[index].allocate();
        if (workers->self() == 0) copy_to(*host(), theirs.data(), own);
        workers->broadcast(call_about(&asker.function->meet, paths), theirs.data(), theirs.bytes(), asker.timeout_ns);
        return Value::plain(std::move(theirs));
    });
}

} // namespace mdist
