// SPDX-License-Identifier: Apache-2.0
#include "comm/device/lane.h"

#include "device/gpu/overdue.h"
#include "util/log.h"
#include "util/round_up.h"
#include "util/text.h"

#include <mdist/tensor.h>

#include <algorithm>

namespace mdist {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kSmallestChunk = std::size_t{1} << 20;
constexpr uint64_t kCloseTimeout_ns = 10'000'000'000u;

} // namespace

Lane::Lane(PhysicalGpu &gpu) : gpu_(gpu), stream_(std::make_shared<ReplicaStream>(gpu, -1)) {}

Lane::~Lane() {
    try {
        if (keeps_memory() || finish(kCloseTimeout_ns)) return;
        const std::string what = text("gpu:", gpu_.index(), ": a strategy has ended, and its last collective");
        log_error(not_done(gpu_, stream(), what, kCloseTimeout_ns).message());
    } catch (const std::exception &) {
        // The GPU has failed, and everybody who used it has been told.
    }
}

bool Lane::reaches(const PhysicalGpu &other) const {
    if (&other == &gpu_) return true;
    int32_t can = 0;
    gpu_.check(gpu_.api().can_reach(gpu_.index(), other.index(), &can), "asking whether one GPU reaches another");
    return can != 0;
}

void Lane::wait_for(const Event &event) {
    if (event.get() == nullptr) return;
    gpu_.check(gpu_.api().stream_wait(gpu_.index(), stream(), event.get()), "making collectives wait for a replica");
}

void Lane::begin() {
    for (Chunk &chunk : chunks_) chunk.used = 0;
    fetches_.clear();
    widenings_.clear();
    reductions_.clear();
    addresses_.clear();
    destinations_.clear();
    first_address_ = 0;
    copies_.clear();
    sends_.clear();
    graph_ = nullptr;
}

void *Lane::scratch(std::size_t bytes) {
    bytes = round_up(bytes, kAlignment);
    const auto fits = [bytes](const Chunk &chunk) { return chunk.bytes - chunk.used >= bytes; };
    auto chunk = std::find_if(chunks_.begin(), chunks_.end(), fits);
    if (chunk == chunks_.end()) {
        const std::size_t size = std::max(bytes, kSmallestChunk);
        chunk = chunks_.insert(chunks_.end(), Chunk{gpu_.allocate(size, stream_), size, 0});
    }
    void *const memory = static_cast<char *>(chunk->memory.get()) + chunk->used;
    chunk->used += bytes;
    return memory;
}

void Lane::fetch(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0) fetches_.push_back({to, from, bytes});
}

void Lane::widen(void *to, int32_t dtype, const void *from, uint64_t elements) {
    if (elements != 0) widenings_.push_back({to, dtype, from, elements});
}

void Lane::reduce(const reduce::Operation &operation, uint64_t elements) {
    mdist_gpu_reduction reduction = {};
    reduction.dtype = operation.dtype;
    reduction.op = static_cast<int32_t>(operation.op);
    reduction.divisor = operation.divisor;
    reduction.source_count = static_cast<uint32_t>(addresses_.size() - first_address_);
    reduction.destination_count = static_cast<uint32_t>(destinations_.size());
    reduction.elements = elements;
    addresses_.insert(addresses_.end(), destinations_.begin(), destinations_.end());
    destinations_.clear();
    if (elements == 0)
        addresses_.resize(first_address_);
    else
        reductions_.push_back(reduction);
    first_address_ = addresses_.size();
}

void Lane::copy(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0 && to != from) copies_.push_back({to, from, bytes});
}

void Lane::send(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0 && to != from) sends_.push_back({to, from, bytes});
}

void Lane::launch_copies(const std::vector<mdist_gpu_stretch> &stretches) {
    for (const mdist_gpu_stretch &each : stretches)
        gpu_.check(gpu_.api().copy(gpu_.index(), each.to, each.from, each.bytes, stream()), "copying in a collective");
}

void Lane::launch() {
    launch_copies(fetches_);
    for (const Widening &each : widenings_)
        gpu_.check(
            gpu_.api().cast(gpu_.index(), MDIST_FLOAT32, each.to, each.dtype, each.from, 1, each.elements, stream()),
            "widening in a collective");
    void **address = addresses_.data();
    for (mdist_gpu_reduction &each : reductions_) {
        each.sources = address;
        each.destinations = address + each.source_count;
        address += each.source_count + each.destination_count;
    }
    if (!reductions_.empty())
        gpu_.check(gpu_.api().reduce(gpu_.index(), reductions_.data(), reductions_.size(), stream()),
                   "reducing in a collective");
    if (!copies_.empty())
        gpu_.check(gpu_.api().copy_many(gpu_.index(), copies_.data(), copies_.size(), stream()),
                   "copying in a collective");
    launch_copies(sends_);
    if (graph_ != nullptr) graph_->launch(stream());
}

} // namespace mdist
