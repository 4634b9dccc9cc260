// SPDX-License-Identifier: Apache-2.0
// Reduces over axes. Replicas may differ in length.
#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "device/transfer/transfer.h"
#include "reduce/axes.h"
#include "reduce/float_environment.h"
#include "strategy/values/cross.h"
#include "util/dtype.h"
#include "util/fnv.h"
#include "util/function_ref.h"
#include "util/text.h"

#include <bit>
#include <cstring>

namespace mdist {

int32_t dimension(int32_t axis, int32_t rank) {
    if (axis < -rank || axis >= rank)
        throw invalid(text("axis is ", axis, ", out of range for a value of rank ", rank));
    return axis < 0 ? axis + rank : axis;
}

void require_alike_but(std::span<const Tensor> tensors, const bool (&free)[MDIST_MAX_RANK]) {
    const Shape &first = tensors[0].shape();
    for (std::size_t i = 1; i < tensors.size(); ++i) {
        const Shape &shape = tensors[i].shape();
        bool alike = shape.rank == first.rank;
        for (int32_t d = 0; alike && d < first.rank; ++d) alike = free[d] || shape.dims[d] == first.dims[d];
        if (!alike)
            throw Failure(MDIST_ERR_MISMATCH,
                          text("the tensor of local replica 0 has shape ", first.text(), " and that of local replica ",
                               i, " ", shape.text(), "; they may differ along the given axes only"))
                .reason("different_shapes");
    }
}

namespace {

/// The dimensions that `axes` stand for.
struct Reduced {
    bool at[MDIST_MAX_RANK] = {};

    Reduced(const std::vector<int32_t> &axes, int32_t rank) {
        for (const int32_t axis : axes) {
            const int32_t d = dimension(axis, rank);
            if (at[d]) throw invalid(text("axis ", axis, " is given twice"));
            at[d] = true;
        }
    }
    Shape kept(const Shape &shape) const {
        Shape kept;
        for (int32_t d = 0; d < shape.rank; ++d)
            if (!at[d]) kept.dims[kept.rank++] = shape.dims[d];
        return kept;
    }
    /// The number of elements that go into each result.
    uint64_t count(const Shape &shape) const {
        uint64_t product = 1;
        for (int32_t d = 0; d < shape.rank; ++d) product *= at[d] ? shape.dims[d] : 1;
        return product;
    }
};

/// Folds the canonical tree; `leaf(begin, end)` returns the nodes that are known. See <mdist/collective.h>.
reduce::Accumulators fold_tree(int32_t op, int32_t dtype, uint32_t begin, uint32_t end,
                               FunctionRef<const reduce::Accumulators *(uint32_t, uint32_t)> leaf) {
    if (const reduce::Accumulators *known = leaf(begin, end)) return *known;
    const uint32_t half = begin + std::bit_floor(end - begin - 1);
    reduce::Accumulators left = fold_tree(op, dtype, begin, half, leaf);
    reduce::combine(left, op, dtype, fold_tree(op, dtype, half, end, leaf));
    return left;
}

/// Folds the local replicas, a subtree of the whole tree.
reduce::Accumulators fold_local(int32_t op, std::span<const Tensor> tensors, uint32_t first, reduce::Subtree subtree,
                                uint64_t kept, const Reduced &reduced) {
    reduce::Accumulators one;
    return fold_tree(op, tensors[0].dtype(), subtree.begin, subtree.end,
                     [&](uint32_t begin, uint32_t end) -> const reduce::Accumulators * {
                         if (end - begin != 1) return nullptr;
                         const Tensor &tensor = tensors[begin - first];
                         one = reduce::neutral(op, tensor.dtype(), kept);
                         reduce::fold(one, op, tensor.dtype(), tensor.data(), tensor.shape(), reduced.at);
                         return &one;
                     });
}

/// Packs what workers exchange: the number of elements, then the accumulators of each of their subtrees.
std::string packed(uint64_t count, const std::vector<reduce::Accumulators> &subtrees) {
    std::string bytes(reinterpret_cast<const char *>(&count), sizeof count);
    for (const reduce::Accumulators &one : subtrees) {
        const auto *const from = one.integer ? reinterpret_cast<const char *>(one.whole.data())
                                             : reinterpret_cast<const char *>(one.real.data());
        bytes.append(from, (one.integer ? one.whole.size() : one.real.size()) * sizeof(uint64_t));
    }
    return bytes;
}

reduce::Accumulators unpacked(const char *from, bool integer, uint64_t kept) {
    reduce::Accumulators one;
    one.integer = integer;
    if (integer)
        one.whole.resize(kept);
    else
        one.real.resize(kept);
    if (kept != 0)
        std::memcpy(integer ? static_cast<void *>(one.whole.data()) : one.real.data(), from, kept * sizeof(uint64_t));
    return one;
}

/// Folds the whole tree from every worker's part of it. `count` becomes the count over all workers.
reduce::Accumulators fold_job(Workers &workers, const Asker &asker, int32_t op, std::span<const Tensor> tensors,
                              const Shape &kept_shape, const Reduced &reduced, uint64_t &count) {
    const uint64_t kept = kept_shape.elements();
    const reduce::Cut &cut = workers.cut();
    const reduce::Subtree *const subtrees = &cut.subtrees()[cut.first(workers.self())];
    std::vector<reduce::Accumulators> own;
    for (uint32_t i = 0; i < cut.count(workers.self()); ++i)
        own.push_back(fold_local(op, tensors, subtrees[0].begin, subtrees[i], kept, reduced));

    std::string subject = text(asker.subject, "to ", kept_shape.text(), " ", dtype_name(tensors[0].dtype()), ", axes");
    for (int32_t d = 0; d < tensors[0].shape().rank; ++d)
        if (reduced.at[d]) subject += text(" ", d);
    const Call call = call_about(&asker.function->meet, subject, fnv1a(subject) + static_cast<uint64_t>(op));
    const Blobs blobs = workers.gather(call, packed(count, own), asker.timeout_ns);

    count = 0;
    std::vector<reduce::Accumulators> all;
    for (uint32_t worker = 0; worker < workers.count(); ++worker) {
        uint64_t theirs = 0;
        if (blobs[worker].size() != (1 + cut.count(worker) * kept) * sizeof theirs)
            throw bad_message(worker, text(blobs[worker].size(), " bytes of partial results instead of ",
                                           (1 + cut.count(worker) * kept) * sizeof theirs));
        std::memcpy(&theirs, blobs[worker].data(), sizeof theirs);
        count += theirs;
        for (uint32_t i = 0; i < cut.count(worker); ++i)
            all.push_back(
                unpacked(blobs[worker].data() + sizeof theirs + i * kept * sizeof theirs, own[0].integer, kept));
    }
    return fold_tree(op, tensors[0].dtype(), 0, cut.replicas(),
                     [&](uint32_t begin, uint32_t end) -> const reduce::Accumulators * {
                         for (std::size_t i = 0; i < all.size(); ++i)
                             if (cut.subtrees()[i] == reduce::Subtree{begin, end}) return &all[i];
                         return nullptr;
                     });
}

} // namespace

Tensor reduce_axes(Workers *workers, const Asker &asker, int32_t op, std::span<const Tensor> everywhere,
                   const std::vector<int32_t> &axes) {
    const Shape &shape = everywhere[0].shape();
    const int32_t dtype = everywhere[0].dtype();
    const Reduced reduced(axes, shape.rank);
    require_alike_but(everywhere, reduced.at);
    const std::vector<Tensor> tensors = to_host(everywhere);
    const Shape kept = reduced.kept(shape);
    uint64_t count = 0;
    for (const Tensor &tensor : tensors) count += reduced.count(tensor.shape());

    const bool to_float64 = op == MDIST_MEAN && dtype_is_integer(dtype);
    // Comes first because it refuses shapes that are too large: empty tensors can leave any number of elements behind.
    Tensor out = Tensor::allocate(*host(), to_float64 ? static_cast<int32_t>(MDIST_FLOAT64) : dtype, kept);
    const reduce::FloatEnvironment environment;
    const auto replicas = static_cast<uint32_t>(tensors.size());
    const reduce::Accumulators total = workers == nullptr
                                           ? fold_local(op, tensors, 0, {0, replicas}, kept.elements(), reduced)
                                           : fold_job(*workers, asker, op, tensors, kept, reduced, count);
    const double divisor = op == MDIST_MEAN ? static_cast<double>(count) : 1;
    if (to_float64)
        reduce::mean_of_integers(total, divisor, dtype, out.data());
    else
        reduce::narrow(total, divisor, dtype, out.data());
    return out;
}

} // namespace mdist
