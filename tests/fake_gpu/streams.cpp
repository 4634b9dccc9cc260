// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include "capture.h"
#include "errors.h"
#include "events.h"
#include "faults.h"
#include "options.h"

#include "util/thread.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

/// A stream's handle and its thread share it.
struct mdist_gpu_stream {
    struct Entry {
        fake_gpu::Job job;
        bool always;                              // run it even if the GPU has failed
        std::shared_ptr<fake_gpu::Mark> recorded; // instead of a job: this happens, and is counted as done at once
    };

    int32_t device = 0;
    std::mt19937_64 delays;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<Entry> entries;
    uint64_t given = 0;
    uint64_t done = 0;
    bool last = false;                          // no more entries will come
    std::shared_ptr<fake_gpu::Capture> capture; // set while the stream is recorded
};

namespace fake_gpu {
namespace {

using StreamPointer = std::shared_ptr<mdist_gpu_stream>;

struct StreamTable {
    std::mutex lock;
    std::condition_variable job_ended;
    std::map<int32_t, uint64_t> running;                       // number of jobs, by GPU
    std::map<int32_t, int> errors;                             // by GPU that has failed
    std::map<const mdist_gpu_stream *, StreamPointer> streams; // those that have a handle
    std::vector<std::weak_ptr<mdist_gpu_stream>> destroyed;    // they may still be running jobs
    uint64_t made = 0;
    uint64_t graphs = 0;
    std::mt19937_64 orders{options().seed}; // of the graphs' branches
};

StreamTable &stream_table() {
    static StreamTable &once = *new StreamTable;
    return once;
}

StreamPointer find(int32_t device, const mdist_gpu_stream *stream) {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    const auto found = all.streams.find(stream);
    if (found != all.streams.end() && found->second->device == device) return found->second;
    note_problem("a stream was used that is none, or of another GPU");
    return nullptr;
}

void delay(mdist_gpu_stream &stream) {
    const uint64_t most = options().delay_us;
    if (most != 0) std::this_thread::sleep_for(std::chrono::microseconds(stream.delays() % (most + 1)));
}

int job_fault(int32_t device) {
    const uint64_t begun = begin_hang();
    switch (count_call("job")) {
        case Fault::kNone:
            return kOk;
        case Fault::kHang:
            return hang(begun, [device] { return device_error(device) != 0; }), kOk;
        default:
            return kIllegalAddress;
    }
}

/// Returns false if the GPU has failed.
bool begin_job(int32_t device) {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    if (all.errors.count(device) != 0) return false;
    ++all.running[device];
    return true;
}

void end_job(int32_t device) {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    --all.running[device];
    all.job_ended.notify_all();
}

void do_entry(mdist_gpu_stream &stream, const mdist_gpu_stream::Entry &entry) {
    if (entry.recorded != nullptr) return;
    if (entry.always) return static_cast<void>(entry.job());
    delay(stream);
    if (!begin_job(stream.device)) return;
    const int fault = job_fault(stream.device);
    const int error = fault != kOk ? fault : entry.job();
    if (error != kOk) fail_device(stream.device, error);
    end_job(stream.device);
}

void work(const StreamPointer &stream) {
    std::unique_lock guard(stream->lock);
    for (;;) {
        stream->changed.wait(guard, [&] { return !stream->entries.empty() || stream->last; });
        if (stream->entries.empty()) return;
        mdist_gpu_stream::Entry entry = std::move(stream->entries.front());
        stream->entries.pop_front();
        guard.unlock();
        do_entry(*stream, entry);
        entry.job = {};
        guard.lock();
        if (entry.recorded != nullptr) entry.recorded->happen();
        ++stream->done;
        stream->changed.notify_all();
    }
}

int give(int32_t device, mdist_gpu_stream *handle, mdist_gpu_stream::Entry entry) {
    const StreamPointer stream = find(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    const std::lock_guard guard(stream->lock);
    stream->entries.push_back(std::move(entry));
    ++stream->given;
    stream->changed.notify_all();
    return kOk;
}

std::shared_ptr<Capture> capture_of(const StreamPointer &stream) {
    const std::lock_guard guard(stream->lock);
    return stream->capture;
}

/// Makes the stream wait for an event of a capture.
int join(const StreamPointer &stream, const Mark &mark) {
    {
        const std::lock_guard guard(stream->lock);
        if (mark.capture->ended()) return kCapturedEvent;
        if (stream->capture == nullptr) stream->capture = mark.capture;
        if (stream->capture != mark.capture) return kCaptureIsolation;
    }
    mark.capture->join(stream.get(), mark.stream, mark.position);
    return kOk;
}

bool is_done(mdist_gpu_stream &stream) {
    const std::lock_guard guard(stream.lock);
    return stream.done == stream.given;
}

void wait_until_done(mdist_gpu_stream &stream) {
    std::unique_lock guard(stream.lock);
    const uint64_t wanted = stream.given;
    stream.changed.wait(guard, [&] { return stream.done >= wanted; });
}

} // namespace

int device_error(int32_t device) {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    const auto found = all.errors.find(device);
    return found == all.errors.end() ? kOk : found->second;
}

int reported_error(int32_t device) {
    StreamTable &all = stream_table();
    std::unique_lock guard(all.lock);
    const auto found = all.errors.find(device);
    if (found == all.errors.end()) return kOk;
    const int error = found->second;
    all.job_ended.wait(guard, [&] { return all.running[device] == 0; });
    return error;
}

void fail_device(int32_t device, int error) {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    all.errors.emplace(device, error);
}

void mend_devices() {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    all.errors.clear();
}

int stream_create(int32_t device, mdist_gpu_stream **stream) {
    const auto made = std::make_shared<mdist_gpu_stream>();
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    made->device = device;
    made->delays.seed(options().seed * 1000 + all.made++);
    all.streams.emplace(made.get(), made);
    const mdist::SignalsBlocked blocked;
    std::thread([made] { work(made); }).detach();
    *stream = made.get();
    return kOk;
}

int stream_destroy(int32_t device, mdist_gpu_stream *handle) {
    const StreamPointer stream = find(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    all.streams.erase(handle);
    std::erase_if(all.destroyed, [](const auto &one) { return one.expired(); });
    all.destroyed.push_back(stream);
    const std::lock_guard stream_guard(stream->lock);
    stream->last = true;
    stream->changed.notify_all();
    return kOk;
}

int stream_query(int32_t device, mdist_gpu_stream *handle) {
    const StreamPointer stream = find(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    const bool done = is_done(*stream); // before the error: a query that finds the stream done also reports a failure
    if (const int error = reported_error(device)) return error;
    if (const auto capture = capture_of(stream)) return capture->spoil(kCaptureUnsupported);
    return done ? kOk : kNotReady;
}

int push(int32_t device, mdist_gpu_stream *stream, Job job) {
    return push_made(device, stream, [job = std::move(job)] { return job; });
}

int push_made(int32_t device, mdist_gpu_stream *handle, JobMaker make) {
    const StreamPointer stream = find(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    if (const auto capture = capture_of(stream)) return capture->add(handle, std::move(make)), kOk;
    return give(device, handle, {make(), false, nullptr});
}

void wait_for_stream(int32_t device, mdist_gpu_stream *handle) {
    if (const StreamPointer stream = find(device, handle)) wait_until_done(*stream);
}

void wait_for_streams(int32_t device) {
    std::vector<StreamPointer> streams;
    {
        StreamTable &all = stream_table();
        const std::lock_guard guard(all.lock);
        for (const auto &[handle, stream] : all.streams) streams.push_back(stream);
        for (const auto &one : all.destroyed)
            if (const StreamPointer stream = one.lock()) streams.push_back(stream);
    }
    for (const StreamPointer &stream : streams)
        if (stream->device == device) wait_until_done(*stream);
}

int stream_wait(int32_t device, mdist_gpu_stream *handle, mdist_gpu_event *event) {
    const std::shared_ptr<Mark> mark = mark_of(event);
    const StreamPointer stream = find(device, handle);
    if (mark == nullptr || stream == nullptr) return kInvalidHandle;
    if (mark->capture != nullptr) return join(stream, *mark);
    if (const auto capture = capture_of(stream)) return capture->spoil(kCaptureIsolation);
    return give(device, handle, {[mark] { return mark->wait(), kOk; }, true, nullptr});
}

int event_record(int32_t device, mdist_gpu_event *event, mdist_gpu_stream *handle) {
    const StreamPointer stream = find(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    const auto capture = capture_of(stream);
    const std::shared_ptr<Mark> mark = new_mark(device, event, capture, handle);
    if (mark == nullptr) return kInvalidHandle;
    if (capture != nullptr) return kOk;
    return give(device, handle, {nullptr, true, mark});
}

int capture_begin(int32_t device, mdist_gpu_stream *handle) {
    const StreamPointer stream = find(device, handle);
    if (stream == nullptr) return kInvalidHandle;
    const std::lock_guard guard(stream->lock);
    if (stream->capture != nullptr) return kInvalidValue;
    stream->capture = std::make_shared<Capture>(handle);
    return kOk;
}

int capture_end(int32_t device, mdist_gpu_stream *handle, void **graph) {
    const StreamPointer origin = find(device, handle);
    const auto capture = origin == nullptr ? nullptr : capture_of(origin);
    if (capture == nullptr) return kInvalidHandle;
    const int error = capture->end(handle);
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    for (const auto &[key, stream] : all.streams) {
        const std::lock_guard stream_guard(stream->lock);
        if (stream->capture == capture) stream->capture = nullptr;
    }
    if (error != kOk) return error;
    *graph = new Graph(capture->graph());
    ++all.graphs;
    return kOk;
}

int graph_launch(int32_t device, void *graph, mdist_gpu_stream *stream) {
    std::vector<JobMaker> jobs;
    {
        StreamTable &all = stream_table();
        const std::lock_guard guard(all.lock);
        jobs = some_order(*static_cast<const Graph *>(graph), all.orders);
    }
    for (const JobMaker &make : jobs)
        if (const int error = push_made(device, stream, make)) return error;
    if (options().launch_waits) wait_for_stream(device, stream);
    return kOk;
}

int graph_destroy(void *graph) {
    delete static_cast<Graph *>(graph);
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    --all.graphs;
    return kOk;
}

uint64_t live_graphs() {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    return all.graphs;
}

uint64_t live_streams() {
    StreamTable &all = stream_table();
    const std::lock_guard guard(all.lock);
    return all.streams.size();
}

} // namespace fake_gpu
