// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/physical.h"

#include "device/gpu/event.h"
#include "device/gpu/loader.h"
#include "device/gpu/overdue.h"
#include "device/gpu/owned_ranges.h"
#include "device/gpu/polling.h"
#include "device/gpu/pool.h"
#include "device/gpu/reserved_memory.h"
#include "util/forever.h"
#include "util/text.h"

#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

namespace mdist {
namespace {

constexpr uint64_t kPatienceNs = 600'000'000'000; // until somebody says otherwise

/// The error after which CUDA does nothing more in this process; 0: none.
std::atomic<int> fatal_error{0};

/// nullptr until a GPU is used: until then no address is one's.
std::atomic<const mdist_gpu_api *> api_in_use{nullptr};

mdist_gpu_info info_of(const mdist_gpu_api &api, int32_t index) {
    mdist_gpu_info info = {};
    const int error = api.device_info(index, &info);
    if (error == 0) return info;
    throw Failure(MDIST_ERR_DEVICE, text("gpu:", index, ": asking what it is failed: ", api.text(error)))
        .reason("gpu_failed")
        .native(error);
}

} // namespace

PhysicalGpu &PhysicalGpu::at(int32_t index) {
    static std::mutex mutex;
    static auto &made = *new std::vector<PhysicalGpu *>(); // never destroyed
    const mdist_gpu_api &api = gpu_api(text("gpu:", index));
    const int32_t count = gpu_support().count;
    if (index < 0 || index >= count)
        throw invalid(text("gpu:", index, ": this process has ", count, count == 1 ? " GPU, gpu:0" : " GPUs, gpu:0 to ",
                           count == 1 ? std::string() : text("gpu:", count - 1)));
    const std::lock_guard lock(mutex);
    made.resize(static_cast<std::size_t>(count));
    PhysicalGpu *&gpu = made[static_cast<std::size_t>(index)];
    if (gpu == nullptr) gpu = new PhysicalGpu(index, api, info_of(api, index));
    api_in_use = &api;
    return *gpu;
}

PhysicalGpu::PhysicalGpu(int32_t index, const mdist_gpu_api &api, const mdist_gpu_info &info)
    : index_(index),
      api_(api),
      info_(info),
      pool_(std::make_unique<GpuPool>(*this)),
      source_(std::make_shared<ReservedMemory>(*this)) {}

PhysicalGpu::~PhysicalGpu() = default;

Memory PhysicalGpu::allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream) {
    return pool_->allocate(bytes, std::move(stream));
}

uint64_t PhysicalGpu::patience() const {
    const uint64_t said = patience_ns_;
    return said != 0 ? said : kPatienceNs;
}

void PhysicalGpu::be_patient(uint64_t timeout_ns) {
    uint64_t before = patience_ns_;
    while (before < timeout_ns && !patience_ns_.compare_exchange_weak(before, timeout_ns)) {
    }
}

mdist_gpu_stream *PhysicalGpu::stream_for_now() {
    const std::lock_guard lock(mutex_);
    if (now_ == nullptr) check(api_.stream_create(index_, 0, &now_), "making a stream");
    return now_;
}

/// Whatever cannot be marked is waited for all the same: whose memory it is may take it away when this is over.
void PhysicalGpu::wait_for_now(const char *what) {
    const uint64_t limit = patience();
    Event mark;
    try {
        mark = Event(*this, stream_for_now());
    } catch (const Failure &) {
        wait_for_stream(stream_for_now(), limit, what);
        throw;
    }
    if (!mark.wait(limit)) throw not_done(stream_for_now(), text("gpu:", index_, ": ", what), limit);
}

void PhysicalGpu::copy_now(void *to, const void *from, std::size_t bytes) {
    if (bytes == 0) return;
    mdist_gpu_stream *const stream = stream_for_now();
    const uint64_t limit = patience();
    if (!await_copy(to, from, stream, limit)) throw not_done(stream, text("gpu:", index_, ": copying"), limit);
    check(api_.copy(index_, to, from, bytes, stream), "copying");
    wait_for_now("copying");
}

void PhysicalGpu::zero_now(void *data, std::size_t bytes) {
    if (bytes == 0) return;
    check(api_.fill(index_, data, 0, bytes, stream_for_now()), "filling memory with zeros");
    wait_for_now("filling memory with zeros");
}

bool PhysicalGpu::is_pageable(const void *address) const {
    int32_t kind = MDIST_GPU_MEMORY_HOST;
    int32_t device = -1;
    return api_.memory_kind(address, &kind, &device) != 0 || kind == MDIST_GPU_MEMORY_HOST;
}

bool PhysicalGpu::await_copy(const void *to, const void *from, mdist_gpu_stream *stream, uint64_t timeout_ns) {
    return (!is_pageable(to) && !is_pageable(from)) || Event(*this, stream).wait(timeout_ns);
}

bool PhysicalGpu::wait_for_stream(mdist_gpu_stream *stream, uint64_t timeout_ns, const char *what) const {
    const auto done = [&] {
        const int error = api_.stream_query(index_, stream);
        if (error != 0 && api_.kind(error) == MDIST_GPU_NOT_READY) return false;
        check(error, what);
        return true;
    };
    return poll_until(done, timeout_ns);
}

mdist_gpu_event *PhysicalGpu::take_event() {
    {
        const std::lock_guard lock(mutex_);
        if (!events_.empty()) {
            mdist_gpu_event *const event = events_.back();
            events_.pop_back();
            return event;
        }
    }
    mdist_gpu_event *event = nullptr;
    check(api_.event_create(index_, 0, &event), "making an event");
    return event;
}

void PhysicalGpu::keep_event(mdist_gpu_event *event) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
    } catch (const std::bad_alloc &) {
        api_.event_destroy(index_, event);
    }
}

Failure PhysicalGpu::failure(int error, const std::string &what) const {
    const int kind = api_.kind(error);
    int none = 0;
    if (kind == MDIST_GPU_FATAL) fatal_error.compare_exchange_strong(none, error);
    return Failure(kind == MDIST_GPU_OUT_OF_MEMORY ? MDIST_ERR_OUT_OF_MEMORY : MDIST_ERR_DEVICE,
                   text("gpu:", index_, ": ", what, " failed: ", api_.text(error)))
        .reason(kind == MDIST_GPU_OUT_OF_MEMORY ? "gpu_memory"
                : kind == MDIST_GPU_FATAL       ? "gpu_fatal"
                                                : "gpu_failed")
        .native(error);
}

Failure PhysicalGpu::not_done(mdist_gpu_stream *stream, const std::string &what, uint64_t timeout_ns) {
    forever<Overdue>().add(*this, stream);
    return Failure(MDIST_ERR_TIMEOUT, text(what, " was not done within ", timeout_ns / 1'000'000,
                                           " ms; something on its stream does not end"))
        .reason("gpu_timeout");
}

bool PhysicalGpu::keeps_memory() noexcept {
    return forever<Overdue>().any();
}

void PhysicalGpu::require_sound() const {
    const int error = fatal_error.load(std::memory_order_relaxed);
    if (error == 0) return;
    throw Failure(MDIST_ERR_DEVICE,
                  text("gpu:", index_, ": this process can use its GPUs no more since ", api_.text(error)))
        .reason("gpu_fatal")
        .native(error);
}

Place place_of(const void *address, int32_t asking) {
    const mdist_gpu_api *const api = api_in_use.load(std::memory_order_acquire);
    if (api == nullptr || address == nullptr) return {};
    if (const std::optional<int32_t> own = forever<OwnedRanges>().find(address)) return {MDIST_DEVICE_GPU, *own};
    int32_t kind = MDIST_GPU_MEMORY_HOST;
    int32_t device = -1;
    if (api->memory_kind(address, &kind, &device) != 0) return {};
    if (kind != MDIST_GPU_MEMORY_DEVICE && kind != MDIST_GPU_MEMORY_MANAGED) return {};
    return {MDIST_DEVICE_GPU, device < 0 ? asking : device};
}

void copy_between(void *to, const Place &to_place, const void *from, const Place &from_place, std::size_t bytes) {
    if (bytes == 0) return;
    if (to_place.on_host() && from_place.on_host())
        std::memcpy(to, from, bytes);
    else
        PhysicalGpu::at(to_place.on_host() ? from_place.index : to_place.index).copy_now(to, from, bytes);
}

Memory allocate_pinned(std::size_t bytes) {
    if (gpu_support().count == 0) return host()->allocate(bytes);
    const mdist_gpu_api &api = gpu_api("page-locked memory");
    void *memory = nullptr;
    const int error = api.allocate_pinned(bytes == 0 ? 1 : bytes, &memory);
    if (error != 0) throw PhysicalGpu::at(0).failure(error, text("page-locking ", bytes, " bytes of the host"));
    return Memory(memory, [&api](void *begin) {
        if (!PhysicalGpu::keeps_memory()) api.release_pinned(begin);
    });
}

} // namespace mdist
