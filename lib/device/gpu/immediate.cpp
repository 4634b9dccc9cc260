// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/immediate.h"

#include "device/gpu/event.h"
#include "device/gpu/overdue.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kFirstPatienceNs = 600'000'000'000; // until be_patient()

bool is_pageable(const mdist_gpu_api &api, const void *address) {
    int32_t kind = MDIST_GPU_MEMORY_HOST;
    int32_t device = -1;
    return api.memory_kind(address, &kind, &device) != 0 || kind == MDIST_GPU_MEMORY_HOST;
}

} // namespace

bool await_copy(GpuCard &card, const void *to, const void *from, mdist_gpu_stream *stream, uint64_t timeout_ns) {
    return (!is_pageable(card.api(), to) && !is_pageable(card.api(), from)) || Event(card, stream).wait(timeout_ns);
}

void finish_on(GpuCard &card, mdist_gpu_stream *stream, uint64_t timeout_ns, const char *what) {
    Event mark;
    try {
        mark = Event(card, stream);
    } catch (const Failure &) {
        card.wait_for_stream(stream, timeout_ns, what);
        throw;
    }
    if (!mark.wait(timeout_ns)) throw not_done(card, stream, text("gpu:", card.index(), ": ", what), timeout_ns);
}

uint64_t ImmediateWork::patience() const {
    const uint64_t said = patience_ns_;
    return said != 0 ? said : kFirstPatienceNs;
}

void ImmediateWork::be_patient(uint64_t timeout_ns) {
    uint64_t before = patience_ns_;
    while (before < timeout_ns && !patience_ns_.compare_exchange_weak(before, timeout_ns)) {
    }
}

mdist_gpu_stream *ImmediateWork::stream() {
    const std::lock_guard lock(mutex_);
    if (stream_ == nullptr) card_.check(card_.api().stream_create(card_.index(), 0, &stream_), "making a stream");
    return stream_;
}

void ImmediateWork::copy(void *to, const void *from, std::size_t bytes) {
    if (bytes == 0) return;
    mdist_gpu_stream *const on = stream();
    const uint64_t limit = patience();
    if (!await_copy(card_, to, from, on, limit))
        throw not_done(card_, on, text("gpu:", card_.index(), ": copying"), limit);
    card_.check(card_.api().copy(card_.index(), to, from, bytes, on), "copying");
    finish_on(card_, on, limit, "copying");
}

void ImmediateWork::zero(void *data, std::size_t bytes) {
    if (bytes == 0) return;
    mdist_gpu_stream *const on = stream();
    card_.check(card_.api().fill(card_.index(), data, 0, bytes, on), "filling memory with zeros");
    finish_on(card_, on, patience(), "filling memory with zeros");
}

} // namespace mdist
