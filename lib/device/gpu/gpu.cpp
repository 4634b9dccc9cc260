// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/gpu.h"

#include "device/gpu/overdue.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/collective.h>
#include <mdist/variable.h>

namespace mdist {
namespace {

constexpr uint64_t kTimeoutNs = 600'000'000'000; // until set_timeout()

/// The op of a reduction that turns `to` and `from` into the new `to`; 0 if there is none.
int32_t op_of(int32_t assign) {
    switch (assign) {
        case MDIST_ASSIGN_ADD:
            return MDIST_SUM;
        case MDIST_ASSIGN_SUB:
            return MDIST_GPU_DIFFERENCE;
        case MDIST_ASSIGN_MUL:
            return MDIST_PROD;
        case MDIST_ASSIGN_MIN:
            return MDIST_MIN;
        case MDIST_ASSIGN_MAX:
            return MDIST_MAX;
        default:
            return 0;
    }
}

} // namespace

Gpu::Gpu(int32_t index, int32_t logical)
    : physical_(PhysicalGpu::at(index)),
      logical_(logical),
      stream_(std::make_shared<ReplicaStream>(physical_)),
      timeout_ns_(kTimeoutNs) {}

std::string Gpu::name() const {
    return logical_ != 0 ? text("gpu:", index(), '/', logical_) : text("gpu:", index());
}

Memory Gpu::allocate(std::size_t bytes) {
    Memory memory = physical_.allocate(bytes, stream_);
    if (recording()) stream_->keep(memory);
    return memory;
}

Memory Gpu::allocate_zeros(std::size_t bytes) {
    stream_->require_running("memory of zeros");
    Memory memory = allocate(bytes);
    if (!stream_->mark().wait(timeout_ns_)) throw not_done("what used this memory before"); // on this stream
    physical_.zero_now(memory.get(), bytes);
    return memory;
}

std::shared_ptr<MemorySource> Gpu::memory_source() {
    return physical_.memory_source();
}

void Gpu::given(int error, const char *what) const {
    physical_.check(error, what);
    if (blocking_) wait_until_done(what);
}

void Gpu::wait_until_done(const char *what) const {
    if (!physical_.wait_for_stream(stream(), timeout_ns_, what)) throw not_done(what);
}

Failure Gpu::not_done(const char *what) const {
    return mdist::not_done(physical_, stream(), text(name(), ": ", what), timeout_ns_);
}

void Gpu::copy_host(void *to, const void *from, std::size_t bytes, const char *what) const {
    stream_->require_running(what);
    if (!await_copy(physical_, to, from, stream(), timeout_ns_)) throw not_done(what);
    physical_.check(physical_.api().copy(index(), to, from, bytes, stream()), what);
    wait_until_done(what);
}

void Gpu::copy_in(void *to, const void *from_host, std::size_t bytes) {
    if (bytes == 0) return;
    copy_host(to, from_host, bytes, "copying from the host");
}

void Gpu::copy_out(void *to_host, const void *from, std::size_t bytes) const {
    if (bytes == 0) return;
    copy_host(to_host, from, bytes, "copying to the host");
}

void Gpu::zero(void *data, std::size_t bytes) {
    if (bytes != 0) given(physical_.api().fill(index(), data, 0, bytes, stream()), "filling memory with zeros");
}

void Gpu::zero_given_up(void *data, std::size_t bytes) {
    stream_->zero(data, bytes);
    if (blocking_) wait_until_done("filling memory with zeros");
}

void Gpu::copy(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0 && to != from) given(physical_.api().copy(index(), to, from, bytes, stream()), "copying");
}

void Gpu::reduce(const reduce::Operation &operation, const void *const *sources, std::size_t source_count,
                 void *const *destinations, std::size_t destination_count, std::size_t elements) {
    if (elements == 0 || destination_count == 0) return;
    mdist_gpu_reduction reduction = {};
    reduction.dtype = operation.dtype;
    reduction.op = static_cast<int32_t>(operation.op);
    reduction.divisor = operation.divisor;
    reduction.source_count = static_cast<uint32_t>(source_count);
    reduction.destination_count = static_cast<uint32_t>(destination_count);
    reduction.sources = sources;
    reduction.destinations = destinations;
    reduction.elements = elements;
    given(physical_.api().reduce(index(), &reduction, 1, stream()), "reducing");
}

void Gpu::write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) {
    if (elements == 0) return;
    if (assign == MDIST_ASSIGN_SET) return copy(to, from, elements * dtype_size(dtype));
    const int32_t op = op_of(assign);
    if (op == 0) return write_on_host(dtype, assign, to, from, elements);
    const void *const sources[] = {to, from};
    const mdist_gpu_reduction reduction = {dtype, op, 1, 2, 1, sources, &to, elements};
    given(physical_.api().reduce(index(), &reduction, 1, stream()), "assigning");
}

/// Assigns on the host, for assignments that have no kernel.
void Gpu::write_on_host(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) {
    const std::size_t bytes = elements * dtype_size(dtype);
    const Memory written = host()->allocate(bytes);
    const Memory read = host()->allocate(bytes);
    copy_out(written.get(), to, bytes);
    copy_out(read.get(), from, bytes);
    host()->write_elements(dtype, assign, written.get(), read.get(), elements);
    copy_in(to, written.get(), bytes);
}

void Gpu::divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) {
    if (elements == 0) return;
    given(physical_.api().divide(index(), dtype, to, divisor, elements, stream()), "dividing");
}

void Gpu::scale(int32_t dtype, void *to, double factor, std::size_t elements) {
    if (elements == 0) return;
    given(physical_.api().cast(index(), dtype, to, dtype, to, factor, elements, stream()), "scaling");
}

void Gpu::squares(const std::vector<mdist_gpu_squares> &items) {
    if (items.empty()) return;
    const Memory room = allocate(MDIST_GPU_SQUARES_ROOM); // given back at once: what takes it next comes after this
    given(physical_.api().squares(index(), items.data(), items.size(), room.get(), stream()), "adding up squares");
}

void Gpu::finish() {
    physical_.require_sound();
    stream_->require_running("waiting for the GPU");
    wait_until_done("the work of its stream");
}

void Gpu::finish_unless_overdue() {
    if (!keeps_memory()) return finish();
    physical_.require_sound();
    const char *const what = "the work of its stream";
    if (!physical_.wait_for_stream(stream(), 0, what)) throw not_done(what);
}

void Gpu::return_to(mdist_gpu_stream *stream) {
    try {
        return stream_->use(stream);
    } catch (const Failure &) {
        // Then this thread waits, and nobody needs a mark.
    }
    struct Return {
        ReplicaStream &own;
        mdist_gpu_stream *to;
        ~Return() { own.replace(to); }
    };
    const Return end{*stream_, stream};
    wait_until_done("the work of its stream");
}

Event Gpu::record() {
    return {physical_, stream()};
}

void Gpu::wait_for(const Event &event) {
    if (event.get() == nullptr) return;
    const int error = physical_.api().stream_wait(index(), stream(), event.get());
    if (error != 0 && !event.wait(timeout_ns_)) throw physical_.failure(error, "waiting for another stream");
}

} // namespace mdist
