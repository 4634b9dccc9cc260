// SPDX-License-Identifier: Apache-2.0
// The table of GPU functions.
#include "tables.h"

#include "calls.h"
#include "kernels.h"
#include "memory.h"

#include "reduce/reduce.h"
#include "util/dtype.h"

#include <mdist/collective.h>

#include <cstdio>
#include <string>

namespace fake_gpu {

int error_of(Fault fault, int32_t device) {
    switch (fault) {
        case Fault::kNone:
        case Fault::kHang:
            return kOk;
        case Fault::kOutOfMemory:
            return kOutOfMemory;
        case Fault::kInvalid:
            return kInvalidValue;
        case Fault::kFatal:
            return fail_device(device, kIllegalAddress), reported_error(device);
        case Fault::kFailed:
            break;
    }
    return kUnknown;
}

namespace {

bool is_float(int32_t dtype) {
    return mdist::dtype_size(dtype) != 0 && !mdist::dtype_is_integer(dtype);
}

/// Refuses a call for which there is no kernel.
int refuse(const char *what) {
    note_problem(std::string(what) + " was called with a dtype or an operation that it does not have");
    return kInvalidValue;
}

bool can_reduce(const mdist_gpu_reduction &one) {
    if (one.op == MDIST_GPU_DIFFERENCE)
        return mdist::dtype_size(one.dtype) != 0 && one.dtype != MDIST_BOOL && one.source_count == 2;
    const auto op = static_cast<mdist::reduce::Op>(one.op);
    const bool bits = one.op >= MDIST_AND;
    const bool good_op = one.op >= MDIST_SUM && one.op <= MDIST_XOR && (!bits || mdist::dtype_is_integer(one.dtype)) &&
                         (one.dtype != MDIST_BOOL || bits || one.op == MDIST_MIN || one.op == MDIST_MAX);
    return mdist::dtype_size(one.dtype) != 0 && good_op && one.source_count >= 1 &&
           !(op == mdist::reduce::Op::kMean && (mdist::dtype_is_integer(one.dtype) || one.divisor == 0));
}

int device_count(int32_t *count) {
    *count = 0;
    if (const int error = error_of(count_call("device_count"), 0)) return error;
    if (options().no_device != 0) return options().no_device;
    *count = options().devices;
    return options().devices > 0 ? kOk : kNoDevice;
}

int device_info(int32_t device, mdist_gpu_info *info) {
    return call("device_info", device, [&] {
        *info = {};
        std::snprintf(info->name, sizeof info->name, "Fake GPU");
        std::snprintf(info->bus_id, sizeof info->bus_id, "0000:%02X:00.0", static_cast<unsigned>(device) + 1);
        info->memory_bytes = options().memory_mb << 20;
        info->compute_major = 9;
        info->multiprocessors = 1;
        info->driver_version = 13000;
        info->runtime_version = 13000;
        return kOk;
    });
}

int memory_info_of(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes) {
    return call("memory_info", device, [&] { return memory_info(device, free_bytes, total_bytes); });
}

int can_reach(int32_t device, int32_t other, int32_t *can) {
    return call("can_reach", device, [&] {
        if (!is_device(other)) return kInvalidDevice;
        *can = device / options().island == other / options().island;
        if (*can != 0) let_reach(device, other);
        return kOk;
    });
}

int allocate_on(int32_t device, size_t bytes, void **memory) {
    return call("allocate", device, [&] { return allocate(device, bytes, memory); });
}

int release_on(int32_t device, void *memory) {
    return call_at_last("release", device, [&] {
        wait_for_streams(device);
        return release(device, memory);
    });
}

int reservation_granularity(int32_t device, size_t *bytes) {
    return call("reservation_granularity", device, [&] {
        *bytes = kGranularity;
        return kOk;
    });
}

int reserve_on(int32_t device, size_t bytes, void **base) {
    return call("reserve", device, [&] { return reserve(device, bytes, base); });
}

int commit_on(int32_t device, void *begin, size_t bytes) {
    return call("commit", device, [&] { return commit(device, begin, bytes); });
}

int unreserve_on(int32_t device, void *base, size_t bytes, size_t committed) {
    return call_at_last("unreserve", device, [&] {
        wait_for_streams(device);
        return unreserve(device, base, bytes, committed);
    });
}

int allocate_pinned_here(size_t bytes, void **memory) {
    return call("allocate_pinned", 0, [&] { return allocate_pinned(bytes, memory); });
}

int release_pinned_here(void *memory) {
    return call_at_last("release_pinned", 0, [&] {
        check_unused(memory);
        for (int32_t device = 0; device < options().devices; ++device) wait_for_streams(device);
        return release_pinned(memory);
    });
}

int kind_of_memory(const void *address, int32_t *kind, int32_t *device) {
    if (const int error = error_of(count_call("memory_kind"), 0)) return error;
    return memory_kind(address, kind, device);
}

int create_stream(int32_t device, int32_t, mdist_gpu_stream **stream) {
    return call("stream_create", device, [&] { return stream_create(device, stream); });
}

int destroy_stream(int32_t device, mdist_gpu_stream *stream) {
    return call_at_last("stream_destroy", device, [&] { return stream_destroy(device, stream); });
}

int query_stream(int32_t device, mdist_gpu_stream *stream) {
    return call("stream_query", device, [&] { return stream_query(device, stream); });
}

int wait_stream(int32_t device, mdist_gpu_stream *stream, mdist_gpu_event *event) {
    return call("stream_wait", device, [&] { return stream_wait(device, stream, event); });
}

int create_event(int32_t device, int32_t timed, mdist_gpu_event **event) {
    return call("event_create", device, [&] { return event_create(device, timed != 0, event); });
}

int destroy_event(int32_t device, mdist_gpu_event *event) {
    return call_at_last("event_destroy", device, [&] { return event_destroy(device, event); });
}

int record_event(int32_t device, mdist_gpu_event *event, mdist_gpu_stream *stream) {
    return call("event_record", device, [&] { return event_record(device, event, stream); });
}

int query_event(int32_t device, mdist_gpu_event *event) {
    return call("event_query", device, [&] { return event_query(device, event); });
}

int elapsed(mdist_gpu_event *from, mdist_gpu_event *to, float *milliseconds) {
    return call("event_elapsed", 0, [&] { return event_elapsed(from, to, milliseconds); });
}

bool is_pageable(const void *address) {
    int32_t kind = MDIST_GPU_MEMORY_HOST;
    int32_t device = -1;
    return memory_kind(address, &kind, &device) == kOk && kind == MDIST_GPU_MEMORY_HOST;
}

/// Waits as CUDA does: a copy of pageable memory does not return before the stream has reached it.
int copy(int32_t device, void *to, const void *from, size_t bytes, mdist_gpu_stream *stream) {
    if (is_device(device) && (is_pageable(to) || is_pageable(from))) wait_for_stream(device, stream);
    return call_stream("copy", device, stream, [&] { return copy_job(device, to, from, bytes); });
}

int fill(int32_t device, void *to, int32_t byte, size_t bytes, mdist_gpu_stream *stream) {
    return call_stream("fill", device, stream, [&] { return fill_job(device, to, byte, bytes); });
}

int copy_many(int32_t device, const mdist_gpu_stretch *stretches, size_t count, mdist_gpu_stream *stream) {
    return call_stream("copy_many", device, stream, [&] { return copy_many_job(device, stretches, count); });
}

int reduce(int32_t device, const mdist_gpu_reduction *reductions, size_t count, mdist_gpu_stream *stream) {
    for (size_t i = 0; i < count; ++i)
        if (!can_reduce(reductions[i])) return refuse("reduce");
    return call_stream("reduce", device, stream, [&] { return reduce_job(device, reductions, count); });
}

int divide(int32_t device, int32_t dtype, void *to, uint64_t divisor, uint64_t elements, mdist_gpu_stream *stream) {
    if (mdist::dtype_size(dtype) == 0 || divisor == 0) return refuse("divide");
    return call_stream("divide", device, stream, [&] { return divide_job(device, dtype, to, divisor, elements); });
}

int squares(int32_t device, const mdist_gpu_squares *items, size_t count, void *room, mdist_gpu_stream *stream) {
    for (size_t i = 0; i < count; ++i)
        if (!is_float(items[i].dtype)) return refuse("squares");
    return call_stream("squares", device, stream, [&] { return squares_job(device, items, count, room); });
}

int cast(int32_t device, int32_t to_dtype, void *to, int32_t from_dtype, const void *from, double factor,
         uint64_t elements, mdist_gpu_stream *stream) {
    if (!is_float(to_dtype) || !is_float(from_dtype)) return refuse("cast");
    return call_stream("cast", device, stream,
                       [&] { return cast_job(device, to_dtype, to, from_dtype, from, factor, elements); });
}

int spin(int32_t device, uint64_t microseconds, mdist_gpu_stream *stream) {
    return call_stream("spin", device, stream, [&] { return spin_job(microseconds); });
}

int begin_capture(int32_t device, mdist_gpu_stream *stream) {
    return call("capture_begin", device, [&] { return capture_begin(device, stream); });
}

int end_capture(int32_t device, mdist_gpu_stream *stream, void **graph) {
    *graph = nullptr;
    return call_at_last("capture_end", device, [&] { return capture_end(device, stream, graph); });
}

int launch_graph(int32_t device, void *graph, mdist_gpu_stream *stream) {
    return call("graph_launch", device, [&] { return graph_launch(device, graph, stream); });
}

int destroy_graph(void *graph) {
    return call_at_last("graph_destroy", 0, [&] { return graph_destroy(graph); });
}

} // namespace

const mdist_gpu_api gpu_table = {
    .kind_size = sizeof(mdist_gpu_api),
    .kind = kind,
    .text = text,
    .device_count = device_count,
    .device_info = device_info,
    .memory_info = memory_info_of,
    .can_reach = can_reach,
    .allocate = allocate_on,
    .release = release_on,
    .reservation_granularity = reservation_granularity,
    .reserve = reserve_on,
    .commit = commit_on,
    .unreserve = unreserve_on,
    .allocate_pinned = allocate_pinned_here,
    .release_pinned = release_pinned_here,
    .memory_kind = kind_of_memory,
    .stream_create = create_stream,
    .stream_destroy = destroy_stream,
    .stream_query = query_stream,
    .stream_wait = wait_stream,
    .event_create = create_event,
    .event_destroy = destroy_event,
    .event_record = record_event,
    .event_query = query_event,
    .event_elapsed = elapsed,
    .copy = copy,
    .fill = fill,
    .copy_many = copy_many,
    .reduce = reduce,
    .divide = divide,
    .squares = squares,
    .cast = cast,
    .spin = spin,
    .capture_begin = begin_capture,
    .capture_end = end_capture,
    .graph_launch = launch_graph,
    .graph_destroy = destroy_graph,
};

} // namespace fake_gpu
