// SPDX-License-Identifier: Apache-2.0
// Streams: threads that run their jobs in order. Also the events between them, and the state of GPUs. Any thread.
//
// If a job fails, its GPU fails for good. From then on its jobs do not run. Its events still happen, so that a thread
// that waits for one finds out. Threads are never joined; each ends after its stream's last job.
#pragma once

#include "device/gpu/module.h"

#include <cstdint>
#include <functional>

namespace fake_gpu {

/// Returns 0, or the error with which its GPU fails.
using Job = std::function<int()>;

/// Returns 0, or the error with which the GPU has failed.
int device_error(int32_t device);
/// The same, for errors that are reported to the caller. First waits until all jobs that have begun have ended, since
/// CUDA, too, ends kernels before it reports an error.
int reported_error(int32_t device);
void fail_device(int32_t device, int error);
/// Makes all GPUs work again.
void mend_devices();

int stream_create(int32_t device, mdist_gpu_stream **stream);
int stream_destroy(int32_t device, mdist_gpu_stream *stream);
int stream_query(int32_t device, mdist_gpu_stream *stream);
int stream_wait(int32_t device, mdist_gpu_stream *stream, mdist_gpu_event *event);
int push(int32_t device, mdist_gpu_stream *stream, Job job);
/// The same for jobs with state. If it is recorded, each launch makes a new job.
int push_made(int32_t device, mdist_gpu_stream *stream, std::function<Job()> make);
/// Returns when the stream has done everything that it was given before.
void wait_for_stream(int32_t device, mdist_gpu_stream *stream);
/// The same for all streams of a GPU.
void wait_for_streams(int32_t device);

/// Work that streams are given between these two calls is recorded, not done (capture.h).
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
