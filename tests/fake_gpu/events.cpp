// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include "capture.h"
#include "errors.h"
#include "faults.h"
#include "streams.h"

#include <map>

struct mdist_gpu_event {
    int32_t device;
    bool timed;
    std::shared_ptr<fake_gpu::Mark> mark;
};

namespace fake_gpu {
namespace {

struct EventTable {
    std::mutex lock;
    std::map<const mdist_gpu_event *, std::unique_ptr<mdist_gpu_event>> events;
};

EventTable &event_table() {
    static EventTable &once = *new EventTable;
    return once;
}

/// Call it with the lock held.
mdist_gpu_event *find(EventTable &all, const mdist_gpu_event *event) {
    const auto found = all.events.find(event);
    if (found != all.events.end()) return found->second.get();
    note_problem("an event was used that is none");
    return nullptr;
}

} // namespace

void Mark::happen() {
    const std::lock_guard guard(lock_);
    happened_ = true;
    when_ = std::chrono::steady_clock::now();
    changed_.notify_all();
}

void Mark::wait() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return happened_; });
}

bool Mark::happened() {
    const std::lock_guard guard(lock_);
    return happened_;
}

std::chrono::steady_clock::time_point Mark::when() {
    const std::lock_guard guard(lock_);
    return when_;
}

std::shared_ptr<Mark> mark_of(mdist_gpu_event *event) {
    EventTable &all = event_table();
    const std::lock_guard guard(all.lock);
    const mdist_gpu_event *found = find(all, event);
    return found == nullptr ? nullptr : found->mark;
}

std::shared_ptr<Mark> new_mark(int32_t device, mdist_gpu_event *event, const std::shared_ptr<Capture> &capture,
                               const mdist_gpu_stream *stream) {
    EventTable &all = event_table();
    const std::lock_guard guard(all.lock);
    mdist_gpu_event *found = find(all, event);
    if (found == nullptr) return nullptr;
    if (found->device != device) {
        note_problem("an event was recorded on another GPU than its own");
        return nullptr;
    }
    found->mark = std::make_shared<Mark>(capture, stream, capture == nullptr ? 0 : capture->position(stream));
    return found->mark;
}

int event_create(int32_t device, bool timed, mdist_gpu_event **event) {
    auto made = std::make_unique<mdist_gpu_event>();
    made->device = device;
    made->timed = timed;
    made->mark = std::make_shared<Mark>();
    made->mark->happen();
    EventTable &all = event_table();
    const std::lock_guard guard(all.lock);
    *event = made.get();
    all.events.emplace(made.get(), std::move(made));
    return kOk;
}

int event_destroy(int32_t device, mdist_gpu_event *event) {
    EventTable &all = event_table();
    const std::lock_guard guard(all.lock);
    const mdist_gpu_event *found = find(all, event);
    if (found == nullptr || found->device != device) return kInvalidHandle;
    all.events.erase(event);
    return kOk;
}

int event_query(int32_t device, mdist_gpu_event *event) {
    const std::shared_ptr<Mark> mark = mark_of(event);
    if (mark == nullptr) return kInvalidHandle;
    const bool happened = mark->happened(); // before the error: a query that finds the mark done also reports a failure
    if (const int error = reported_error(device)) return error;
    if (mark->capture != nullptr) return mark->capture->ended() ? kCapturedEvent : mark->capture->spoil(kCapturedEvent);
    return happened ? kOk : kNotReady;
}

int event_elapsed(mdist_gpu_event *from, mdist_gpu_event *to, float *milliseconds) {
    const std::shared_ptr<Mark> begin = mark_of(from);
    const std::shared_ptr<Mark> end = mark_of(to);
    if (begin == nullptr || end == nullptr || !from->timed || !to->timed) return kInvalidHandle;
    if (!begin->happened() || !end->happened()) return kNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(end->when() - begin->when()).count();
    return kOk;
}

uint64_t live_events() {
    EventTable &all = event_table();
    const std::lock_guard guard(all.lock);
    return all.events.size();
}

} // namespace fake_gpu
