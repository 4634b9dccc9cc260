// SPDX-License-Identifier: Apache-2.0
// Streams, events, copies by the GPU's copy engines, and recorded work.
#include "cuda/driver.h"
#include "cuda/launch.h"
#include "cuda/tables.h"

#include <atomic>

namespace mdist::cuda {
namespace {

/// Loads the module's kernels before a device's first stream exists, so that no later call waits for that.
int load_kernels(int32_t device) {
    constexpr int32_t kDevices = 256;
    static std::atomic<bool> loaded[kDevices];
    if (device >= 0 && device < kDevices && loaded[device].load(std::memory_order_acquire)) return 0;
    int error = load_reductions();
    if (error == 0) error = load_sums();
    if (error == 0) error = load_transforms();
    if (error == 0 && device >= 0 && device < kDevices) loaded[device].store(true, std::memory_order_release);
    return error;
}

int stream_create(int32_t device, int32_t priority, mdist_gpu_stream **stream) {
    *stream = nullptr;
    return on_device(device, [&]() -> int {
        int least = 0;
        int greatest = 0;
        int error = load_kernels(device);
        if (error == 0) error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
        if (error != 0) return error;
        return cudaStreamCreateWithPriority(reinterpret_cast<cudaStream_t *>(stream), cudaStreamNonBlocking,
                                            priority < 0 ? greatest : least);
    });
}

int stream_destroy(int32_t device, mdist_gpu_stream *stream) {
    return on_device(device, [&] { return cudaStreamDestroy(of(stream)); });
}

int stream_query(int32_t device, mdist_gpu_stream *stream) {
    return on_device(device, [&] { return cudaStreamQuery(of(stream)); });
}

int stream_wait(int32_t device, mdist_gpu_stream *stream, mdist_gpu_event *event) {
    return on_device(device, [&] { return cudaStreamWaitEvent(of(stream), of(event), 0); });
}

int event_create(int32_t device, int32_t timed, mdist_gpu_event **event) {
    *event = nullptr;
    return on_device(device, [&] {
        return cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t *>(event),
                                        timed != 0 ? cudaEventDefault : cudaEventDisableTiming);
    });
}

int event_destroy(int32_t device, mdist_gpu_event *event) {
    return on_device(device, [&] { return cudaEventDestroy(of(event)); });
}

int event_record(int32_t device, mdist_gpu_event *event, mdist_gpu_stream *stream) {
    return on_device(device, [&] { return cudaEventRecord(of(event), of(stream)); });
}

int event_query(int32_t device, mdist_gpu_event *event) {
    return on_device(device, [&] { return cudaEventQuery(of(event)); });
}

int event_elapsed(mdist_gpu_event *from, mdist_gpu_event *to, float *milliseconds) {
    return on_device(-1, [&] { return cudaEventElapsedTime(milliseconds, of(from), of(to)); });
}

int copy(int32_t device, void *to, const void *from, std::size_t bytes, mdist_gpu_stream *stream) {
    if (bytes == 0) return 0;
    return on_device(device, [&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(stream)); });
}

int fill(int32_t device, void *to, int32_t byte, std::size_t bytes, mdist_gpu_stream *stream) {
    if (bytes == 0) return 0;
    return on_device(device, [&] { return cudaMemsetAsync(to, byte, bytes, of(stream)); });
}

int capture_begin(int32_t device, mdist_gpu_stream *stream) {
    return on_device(device, [&] { return cudaStreamBeginCapture(of(stream), cudaStreamCaptureModeRelaxed); });
}

int capture_end(int32_t device, mdist_gpu_stream *stream, void **graph) {
    *graph = nullptr;
    return on_device(device, [&] {
        cudaGraph_t recorded = nullptr;
        cudaError_t error = cudaStreamEndCapture(of(stream), &recorded);
        if (error != cudaSuccess) return error;
        cudaGraphExec_t ready = nullptr;
        error = cudaGraphInstantiate(&ready, recorded, 0);
        cudaGraphDestroy(recorded);
        *graph = ready;
        return error;
    });
}

int graph_launch(int32_t device, void *graph, mdist_gpu_stream *stream) {
    return on_device(device, [&] { return cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), of(stream)); });
}

int graph_destroy(void *graph) {
    return on_device(-1, [&] { return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); });
}

} // namespace

void fill_streams(mdist_gpu_api &api) {
    api.stream_create = stream_create;
    api.stream_destroy = stream_destroy;
    api.stream_query = stream_query;
    api.stream_wait = stream_wait;
    api.event_create = event_create;
    api.event_destroy = event_destroy;
    api.event_record = event_record;
    api.event_query = event_query;
    api.event_elapsed = event_elapsed;
    api.copy = copy;
    api.fill = fill;
    api.capture_begin = capture_begin;
    api.capture_end = capture_end;
    api.graph_launch = graph_launch;
    api.graph_destroy = graph_destroy;
}

} // namespace mdist::cuda
