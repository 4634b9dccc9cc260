// SPDX-License-Identifier: Apache-2.0
// The table's functions that start kernels. They check their arguments, and use as few launches as possible.
#include <mdist/collective.h>

#include <algorithm>

#include "cuda/copy_plan.h"
#include "cuda/driver.h"
#include "cuda/launch.h"
#include "cuda/squares_plan.h"
#include "cuda/tables.h"

namespace mdist::cuda {
namespace {

// Blocks that find no place at first start when others end. A few blocks per place even out the load.
constexpr unsigned kBlocksPerMultiprocessor = 64;

/// Calls f(grid) with a device current. The grid has one block per chunk, up to the number that is worth starting.
template <typename Function>
int with_grid(int32_t device, mdist_gpu_stream *stream, uint64_t chunks, Function f) {
    int multiprocessors = 0;
    const int error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error != 0) return error;
    const uint64_t most = uint64_t{kBlocksPerMultiprocessor} * static_cast<unsigned>(multiprocessors);
    return f(Grid{static_cast<unsigned>(std::min(chunks, most)), of(stream)});
}

int reduce(int32_t device, const mdist_gpu_reduction *reductions, std::size_t count, mdist_gpu_stream *stream) {
    return on_device(device, [&] {
        return for_each_batch(reductions, count, cudaErrorInvalidValue, [&](const ReduceWay &way, const auto &batch) {
            return with_grid(device, stream, batch.chunks, [&](Grid grid) { return launch_reduce(way, batch, grid); });
        });
    });
}

template <typename Batch>
int copy_some(int32_t device, const mdist_gpu_stretch *stretches, std::size_t &next, std::size_t count,
              mdist_gpu_stream *stream) {
    Batch batch;
    const std::size_t begin = next;
    next = gather(stretches, next, count, batch);
    if (next == begin) return cudaErrorInvalidValue;
    if (batch.count == 0) return 0;
    return with_grid(device, stream, batch.chunks, [&](Grid grid) { return launch_copies(batch, grid); });
}

int copy_many(int32_t device, const mdist_gpu_stretch *stretches, std::size_t count, mdist_gpu_stream *stream) {
    return on_device(device, [&] {
        int error = 0;
        for (std::size_t next = 0; next < count && error == 0;)
            error = count - next > SmallCopyBatch::kItems
                        ? copy_some<LargeCopyBatch>(device, stretches, next, count, stream)
                        : copy_some<SmallCopyBatch>(device, stretches, next, count, stream);
        return error;
    });
}

int divide(int32_t device, int32_t dtype, void *to, uint64_t divisor, uint64_t elements, mdist_gpu_stream *stream) {
    if (!is_dtype(dtype) || dtype == MDIST_BOOL || divisor == 0) return cudaErrorInvalidValue;
    if (is_float(dtype)) {
        const void *const source = to;
        const mdist_gpu_reduction mean = {dtype, MDIST_MEAN, divisor, 1, 1, &source, &to, elements};
        return reduce(device, &mean, 1, stream);
    }
    if (elements == 0) return 0;
    const unsigned size = element_size(dtype);
    const DivideWork work = {static_cast<char *>(to), elements, divisor, is_signed(dtype),
                             rows_access(to, size, size * kRow)};
    return on_device(device, [&] {
        return with_grid(device, stream, 1 + (elements - 1) / kRowChunk,
                         [&](Grid grid) { return launch_divide(size, work, grid); });
    });
}

int cast(int32_t device, int32_t to_dtype, void *to, int32_t from_dtype, const void *from, double factor,
         uint64_t elements, mdist_gpu_stream *stream) {
    if (!is_float(to_dtype) || !is_float(from_dtype)) return cudaErrorInvalidValue;
    if (elements == 0) return 0;
    const unsigned to_size = element_size(to_dtype);
    const unsigned from_size = element_size(from_dtype);
    const CastWork work = {
        static_cast<char *>(to), static_cast<const char *>(from), elements, factor,
        std::max(rows_access(to, to_size, to_size * kRow), rows_access(from, from_size, from_size * kRow))};
    return on_device(device, [&] {
        return with_grid(device, stream, 1 + (elements - 1) / kRowChunk,
                         [&](Grid grid) { return launch_cast(to_dtype, from_dtype, work, grid); });
    });
}

int squares(int32_t device, const mdist_gpu_squares *items, std::size_t count, void *room, mdist_gpu_stream *stream) {
    for (std::size_t i = 0; i < count; ++i)
        if (!is_float(items[i].dtype)) return cudaErrorInvalidValue;
    return on_device(device, [&] {
        int error = 0;
        for (std::size_t next = 0; next < count && error == 0;) {
            SquaresBatch batch;
            const int32_t dtype = items[next].dtype;
            next = gather(items, next, count, batch);
            batch.sums = static_cast<double *>(room); // one batch after another
            error = launch_squares(dtype, batch, of(stream));
        }
        return error;
    });
}

int spin(int32_t device, uint64_t microseconds, mdist_gpu_stream *stream) {
    return on_device(device, [&] { return launch_spin(1000 * microseconds, of(stream)); });
}

} // namespace

void fill_kernels(mdist_gpu_api &api) {
    api.copy_many = copy_many;
    api.reduce = reduce;
    api.divide = divide;
    api.squares = squares;
    api.cast = cast;
    api.spin = spin;
}

} // namespace mdist::cuda
