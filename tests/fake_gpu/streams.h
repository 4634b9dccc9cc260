// SPDX-License-Identifier: Apache-2.0
// Streams: threads that do their jobs in order; events between them; and GPUs, which fail for good. Any thread.
//
// A job that fails takes its GPU with it: from then on jobs are not done any more, but events still happen, so that
// whoever waits finds out. Threads are never joined; one ends with its stream's last job.
#pragma once

#include "device/gpu/module.h"

#include <cstdint>
#include <functional>

namespace fake_gpu {

/// Gives 0, or the number of the error that its GPU has from then on.
using Job = std::function<int()>;

/// 0, or what its GPU has failed of.
int device_error(int32_t device);
/// The same for who is told: what jobs had begun has ended then, as CUDA ends kernels before it says what is wrong.
int reported_error(int32_t device);
void fail_device(int32_t device, int error);
/// All sound again.
void mend_devices();

int stream_create(int32_t device, mdist_gpu_stream **stream);
int stream_destroy(int32_t device, mdist_gpu_stream *stream);
int stream_query(int32_t device, mdist_gpu_stream *stream);
int stream_wait(int32_t device, mdist_gpu_stream *stream, mdist_gpu_event *event);
int push(int32_t device, mdist_gpu_stream *stream, Job job);
/// The same of a job that is another one each time it is launched, should it be recorded.
int push_made(int32_t device, mdist_gpu_stream *stream, std::function<Job()> make);
/// Returns when all that a stream was given before is done.
void wait_for_stream(int32_t device, mdist_gpu_stream *stream);
/// The same for all streams of a GPU.
void wait_for_streams(int32_t device);

/// What streams are given between the two is recorded, not done (capture.h).
int capture_begin(int32_t device, mdist_gpu_stream *stream);
int capture_end(int32_t device, mdist_gpu_stream *stream, void **graph);
int graph_launch(int32_t device, void *graph, mdist_gpu_stream *stream);
int graph_destroy(void *graph);

int event_create(int32_t device, bool timed, mdist_gpu_event **event);
int event_destroy(int32_t device, mdist_gpu_event *event);
int event_record(int32_t device, mdist_gpu_event *event, mdist_gpu_stream *stream);
int event_query(int32_t device, mdist_gpu_event *event);
int event_elapsed(mdist_gpu_event *from, mdist_gpu_event *to, float *milliseconds);

uint64_t live_streams();
uint64_t live_events();
uint64_t live_graphs();

} // namespace fake_gpu
