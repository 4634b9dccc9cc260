// SPDX-License-Identifier: Apache-2.0
// Gathers along an axis. Replicas may differ in length.
#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "device/transfer/transfer.h"
#include "strategy/values/cross.h"
#include "strategy/values/structure.h"
#include "util/dtype.h"
#include "util/text.h"

#include <cstring>

namespace mdist {
namespace {

/// One replica's part: its length along the axis, and its elements.
struct Piece {
    uint64_t length;
    const char *data;
};

/// Shapes that differ only along one axis, seen as rows of pieces: `outer` rows, each with `inner_bytes` per unit of
/// length.
struct PieceRows {
    uint64_t outer = 1;
    uint64_t inner_bytes;

    PieceRows(const Shape &shape, int32_t along, int32_t dtype) : inner_bytes(dtype_size(dtype)) {
        for (int32_t d = 0; d < shape.rank; ++d) {
            if (d < along) outer *= shape.dims[d];
            if (d > along) inner_bytes *= shape.dims[d];
        }
    }
};

/// Adds the pieces of one worker's replicas. The blob has all their lengths first, then their elements.
void append_pieces(std::vector<Piece> &pieces, uint32_t worker, const std::string &blob, std::size_t count,
                   const PieceRows &rows) {
    std::size_t at = count * sizeof(uint64_t);
    bool fits = at <= blob.size();
    for (std::size_t i = 0; fits && i < count; ++i) {
        uint64_t length = 0, bytes = 0;
        std::memcpy(&length, blob.data() + i * sizeof length, sizeof length);
        pieces.push_back({length, blob.data() + at});
        fits = !__builtin_mul_overflow(length, rows.outer * rows.inner_bytes, &bytes) && bytes <= blob.size() - at;
        at += fits ? bytes : 0;
    }
    if (!fits || at != blob.size())
        throw bad_message(worker, text(blob.size(), " bytes to gather, which do not match the lengths in them"));
}

/// Returns the pieces of all replicas of the job. They point into `blobs`.
std::vector<Piece> pieces_of_job(const Job &job, Workers &workers, const Asker &asker, std::span<const Tensor> tensors,
                                 int32_t along, const PieceRows &rows, Blobs &blobs) {
    Shape shape = tensors[0].shape();
    shape.dims[along] = 0; // may differ
    const std::string subject =
        text(asker.subject, "axis ", along, " of ", dtype_name(tensors[0].dtype()), " ", shape.text());
    std::string mine;
    for (const Tensor &tensor : tensors)
        mine.append(reinterpret_cast<const char *>(&tensor.shape().dims[along]), sizeof(uint64_t));
    for (const Tensor &tensor : tensors)
        if (tensor.bytes() != 0) mine.append(static_cast<const char *>(tensor.data()), tensor.bytes());
    blobs = workers.gather(call_about(&asker.function->meet, subject), mine, asker.timeout_ns);

    std::vector<Piece> pieces;
    for (uint32_t worker = 0; worker < blobs.size(); ++worker)
        append_pieces(pieces, worker, blobs[worker], job.replicas.span_of(worker).count(), rows);
    return pieces;
}

std::vector<Piece> pieces_of(std::span<const Tensor> tensors, int32_t along) {
    std::vector<Piece> pieces;
    for (const Tensor &tensor : tensors)
        pieces.push_back({tensor.shape().dims[along], static_cast<const char *>(tensor.data())});
    return pieces;
}

ValuePointer gather_leaf(Job &job, const Asker &asker, const Value &value, int32_t axis) {
    value.check_count(job.reach.view().replicas);
    value.check_no_rows();
    std::vector<Tensor> tensors(value.tensors().begin(), value.tensors().end());
    if (value.kind() == MDIST_VALUE_PLAIN) tensors.resize(job.reach.view().replicas, tensors[0]);
    return Value::plain(gather_tensors(job, asker, tensors, axis));
}

} // namespace

Tensor gather_tensors(Job &job, const Asker &asker, std::span<const Tensor> everywhere, int32_t axis) {
    Shape shape = everywhere[0].shape();
    if (shape.rank == 0) throw invalid("a scalar has no axis to gather along; give it a dimension (shape [1]) first");
    bool free[MDIST_MAX_RANK] = {};
    const int32_t along = dimension(axis, shape.rank);
    free[along] = true;
    require_alike_but(everywhere, free);

    const std::vector<Tensor> tensors = to_host(everywhere);
    const PieceRows rows(shape, along, tensors[0].dtype());
    Blobs blobs;
    Workers *const workers = job.workers();
    const std::vector<Piece> pieces = workers == nullptr
                                          ? pieces_of(tensors, along)
                                          : pieces_of_job(job, *workers, asker, tensors, along, rows, blobs);
    shape.dims[along] = 0;
    for (const Piece &piece : pieces)
        if (__builtin_add_overflow(shape.dims[along], piece.length, &shape.dims[along]))
            throw invalid(text("axis ", axis, " would have a length that does not fit in 64 bits"));

    Tensor out = Tensor::allocate(*host(), tensors[0].dtype(), shape);
    char *to = static_cast<char *>(out.data());
    for (uint64_t o = 0; o < rows.outer && out.bytes() != 0; ++o) {
        for (const Piece &piece : pieces) {
            const std::size_t bytes = piece.length * rows.inner_bytes;
            if (bytes != 0) std::memcpy(to, piece.data + o * bytes, bytes);
            to += bytes;
        }
    }
    return out;
}

ValuePointer gather_value(Job &job, const Asker &asker, const Value &value, int32_t axis) {
    return map_leaves(value, [&](const Value &leaf, std::size_t index) {
        return gather_leaf(job, of_leaf(asker, value, index), leaf, axis);
    });
}

} // namespace mdist
