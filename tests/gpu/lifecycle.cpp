// SPDX-License-Identifier: Apache-2.0
// Streams, events, memory, recorded work and NCCL with one rank, through the module's tables.
#include <mdist/collective.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "checks.h"
#include "device/gpu/loader.h"
#include "subject.h"
#include "util/dtype.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

void check_order(const Gpu &gpu) {
    const mdist_gpu_api &api = gpu.api();
    mdist_gpu_stream *other = nullptr;
    mdist_gpu_event *events[3] = {};
    gpu.require(api.stream_create(gpu.device(), -1, &other), "making a stream that goes first");
    for (auto &event : events) gpu.require(api.event_create(gpu.device(), 1, &event), "making an event");
    gpu.checks().check(api.event_query(gpu.device(), events[0]) == 0, "event never recorded has happened", "");
    const Memory memory(gpu, kBytes);
    std::vector<unsigned char> found(kBytes);
    // CUDA may load a kernel at its first use, which waits for the GPU.
    gpu.require(api.fill(gpu.device(), memory.data(), 0, kBytes, gpu.stream()), "fill");
    gpu.require(api.spin(gpu.device(), 1, gpu.stream()), "spin");
    gpu.wait();
    gpu.require(api.event_record(gpu.device(), events[0], gpu.stream()), "recording");
    gpu.require(api.spin(gpu.device(), 50000, gpu.stream()), "spin");
    gpu.require(api.fill(gpu.device(), memory.data(), 9, kBytes, gpu.stream()), "fill");
    gpu.require(api.event_record(gpu.device(), events[1], gpu.stream()), "recording");
    const bool busy = api.kind(api.stream_query(gpu.device(), gpu.stream())) == MDIST_GPU_NOT_READY &&
                      api.kind(api.event_query(gpu.device(), events[1])) == MDIST_GPU_NOT_READY;
    gpu.require(api.stream_wait(gpu.device(), other, events[1]), "waiting for an event");
    gpu.require(api.copy(gpu.device(), found.data(), memory.data(), kBytes, other), "copy");
    gpu.wait(other);
    const bool whole = std::count(found.begin(), found.end(), 9) == static_cast<std::ptrdiff_t>(kBytes);
    gpu.checks().check(whole, "a stream waits for another's event", "");
    float milliseconds = 0;
    gpu.require(api.event_elapsed(events[0], events[1], &milliseconds), "elapsed");
    gpu.checks().check((busy || gpu.is_fake()) && milliseconds >= 45, "spin keeps a stream busy for 50 ms",
                       text(milliseconds, " ms"));
    for (auto *event : events) gpu.require(api.event_destroy(gpu.device(), event), "destroying an event");
    gpu.require(api.stream_destroy(gpu.device(), other), "destroying a stream");
}

void check_kinds(const Gpu &gpu) {
    const mdist_gpu_api &api = gpu.api();
    const Memory memory(gpu, kBytes);
    void *pinned = nullptr;
    gpu.require(api.allocate_pinned(kBytes, &pinned), "allocating pinned memory");
    const auto kind_of = [&](const void *address) {
        int32_t kind = -1;
        int32_t device = -1;
        gpu.require(api.memory_kind(address, &kind, &device), "asking for the kind of memory");
        return kind == MDIST_GPU_MEMORY_DEVICE && device != gpu.device() ? -1 : kind;
    };
    const auto plain = std::make_unique<char[]>(kBytes);
    gpu.checks().check(kind_of(plain.get()) == MDIST_GPU_MEMORY_HOST, "memory of the host is told", "");
    gpu.checks().check(kind_of(pinned) == MDIST_GPU_MEMORY_PINNED, "page-locked memory is told", "");
    gpu.checks().check(kind_of(memory.data() + kBytes - 1) == MDIST_GPU_MEMORY_DEVICE, "memory of the GPU is told", "");
    gpu.require(api.release_pinned(pinned), "releasing pinned memory");
    void *much = nullptr;
    const int error = api.allocate(gpu.device(), std::size_t{1} << 44, &much);
    gpu.checks().check(api.kind(error) == MDIST_GPU_OUT_OF_MEMORY && much == nullptr, "out of memory is told", "");
    gpu.wait(); // nothing else has failed
}

void check_reservation(const Gpu &gpu) {
    const mdist_gpu_api &api = gpu.api();
    std::size_t unit = 0;
    void *base = nullptr;
    gpu.require(api.reservation_granularity(gpu.device(), &unit), "asking for the granularity");
    gpu.require(api.reserve(gpu.device(), 64 * unit, &base), "reserving");
    char *const begin = static_cast<char *>(base);
    gpu.require(api.commit(gpu.device(), begin, unit), "committing");
    gpu.require(api.fill(gpu.device(), begin, 5, unit, gpu.stream()), "fill");
    gpu.require(api.commit(gpu.device(), begin + unit, 2 * unit), "committing more");
    gpu.require(api.fill(gpu.device(), begin + unit, 6, 2 * unit, gpu.stream()), "fill");
    const void *const sources[] = {begin + unit / 2, begin + unit};
    void *const destination = begin + unit / 2;
    const mdist_gpu_reduction sum = {MDIST_UINT8, MDIST_SUM, 1, 2, 1, sources, &destination, unit / 2};
    gpu.require(api.reduce(gpu.device(), &sum, 1, gpu.stream()), "reduce");
    std::vector<unsigned char> found(3 * unit);
    gpu.download(found.data(), begin, found.size());
    const bool right = found[0] == 5 && found[unit / 2] == 11 && found[unit - 1] == 11 && found[unit] == 6;
    int32_t kind = -1;
    int32_t device = -1;
    gpu.require(api.memory_kind(begin + 2 * unit, &kind, &device), "asking for the kind of memory");
    gpu.checks().check(right && kind == MDIST_GPU_MEMORY_DEVICE && device == gpu.device(),
                       "reserved memory grows in its place", text("granularity ", unit));
    gpu.require(api.unreserve(gpu.device(), base, 64 * unit, 3 * unit), "giving a reservation back");
}

void check_leaks(const Gpu &gpu, int rounds) {
    const mdist_gpu_api &api = gpu.api();
    const auto round = [&] {
        const Memory memory(gpu, kBytes);
        mdist_gpu_stream *stream = nullptr;
        mdist_gpu_event *event = nullptr;
        gpu.require(api.stream_create(gpu.device(), 0, &stream), "making a stream");
        gpu.require(api.event_create(gpu.device(), 0, &event), "making an event");
        const Memory room(gpu, MDIST_GPU_SQUARES_ROOM);
        const mdist_gpu_squares item = {MDIST_FLOAT32, memory.data(), 1000,
                                        static_cast<double *>(static_cast<void *>(memory.data() + 8192))};
        gpu.require(api.squares(gpu.device(), &item, 1, room.data(), stream), "squares");
        gpu.require(api.event_record(gpu.device(), event, stream), "recording");
        gpu.wait(stream);
        gpu.require(api.event_destroy(gpu.device(), event), "destroying an event");
        gpu.require(api.stream_destroy(gpu.device(), stream), "destroying a stream");
    };
    for (int i = 0; i < 20; ++i) round();
    const uint64_t before = gpu.free_bytes();
    for (int i = 0; i < rounds; ++i) round();
    const uint64_t after = gpu.free_bytes();
    gpu.checks().check(after + (4 << 20) >= before, "no memory is lost",
                       text(rounds, " rounds, free ", before >> 20, " and ", after >> 20, " MiB"));
}

void check_capture(const Gpu &gpu) {
    const mdist_gpu_api &api = gpu.api();
    const char *const name = "recorded work is done again";
    gpu.require(api.capture_begin(gpu.device(), gpu.stream()), "recording work");
    void *graph = nullptr;
    gpu.require(api.capture_end(gpu.device(), gpu.stream(), &graph), "recording nothing");
    gpu.require(api.graph_destroy(graph), "destroying recorded work");
    const Memory memory(gpu, kBytes);
    const void *const sources[] = {memory.data(), memory.data() + kBytes / 2};
    void *const destination = memory.data();
    const mdist_gpu_reduction sum = {MDIST_UINT8, MDIST_SUM, 1, 2, 1, sources, &destination, kBytes / 2};
    gpu.require(api.fill(gpu.device(), memory.data(), 1, kBytes, gpu.stream()), "fill");
    gpu.wait();
    gpu.require(api.capture_begin(gpu.device(), gpu.stream()), "recording work");
    gpu.require(api.reduce(gpu.device(), &sum, 1, gpu.stream()), "reduce");
    gpu.require(api.capture_end(gpu.device(), gpu.stream(), &graph), "recording work");
    for (int i = 0; i < 5; ++i) gpu.require(api.graph_launch(gpu.device(), graph, gpu.stream()), "launching");
    std::vector<unsigned char> found(kBytes / 2);
    gpu.download(found.data(), memory.data(), found.size());
    gpu.checks().check(std::count(found.begin(), found.end(), 6) == static_cast<std::ptrdiff_t>(found.size()), name,
                       "");
    gpu.require(api.graph_destroy(graph), "destroying recorded work");
}

/// What other threads do while a stream is recorded: the library's threads take and give back memory at any time. A
/// call that waits for the whole card would spoil the recording.
int use_memory(const Gpu &gpu, mdist_gpu_stream *other, mdist_gpu_event *event) {
    const mdist_gpu_api &api = gpu.api();
    std::size_t unit = 0;
    void *memory = nullptr, *pinned = nullptr, *base = nullptr;
    int error = api.allocate(gpu.device(), kBytes, &memory);
    if (error == 0) error = api.fill(gpu.device(), memory, 1, kBytes, other);
    if (error == 0) error = api.event_record(gpu.device(), event, other);
    if (error == 0) gpu.wait(other);
    if (error == 0) error = api.event_query(gpu.device(), event);
    if (error == 0) error = api.release(gpu.device(), memory);
    if (error == 0) error = api.allocate_pinned(kBytes, &pinned);
    if (error == 0) error = api.release_pinned(pinned);
    if (error == 0) error = api.reservation_granularity(gpu.device(), &unit);
    if (error == 0) error = api.reserve(gpu.device(), 2 * unit, &base);
    if (error == 0) error = api.commit(gpu.device(), base, unit);
    if (error == 0) error = api.unreserve(gpu.device(), base, 2 * unit, unit);
    return error;
}

void check_memory_while_recording(const Gpu &gpu) {
    const mdist_gpu_api &api = gpu.api();
    mdist_gpu_stream *other = nullptr;
    mdist_gpu_event *event = nullptr;
    gpu.require(api.stream_create(gpu.device(), 0, &other), "making a stream");
    gpu.require(api.event_create(gpu.device(), 0, &event), "making an event");
    const Memory memory(gpu, kBytes);
    gpu.require(api.capture_begin(gpu.device(), gpu.stream()), "recording work");
    gpu.require(api.fill(gpu.device(), memory.data(), 7, kBytes, gpu.stream()), "fill");
    const int used = use_memory(gpu, other, event);
    void *graph = nullptr;
    const int ended = api.capture_end(gpu.device(), gpu.stream(), &graph);
    gpu.checks().check(used == 0 && ended == 0, "memory comes and goes while a stream is recorded",
                       used == 0 && ended == 0 ? "" : text(api.text(used), "; the recording: ", api.text(ended)));
    if (graph != nullptr) gpu.require(api.graph_destroy(graph), "destroying recorded work");
    gpu.require(api.event_destroy(gpu.device(), event), "destroying an event");
    gpu.require(api.stream_destroy(gpu.device(), other), "destroying a stream");
}

/// NCCL with one rank.
class Alone {
  public:
    Alone(const Gpu &gpu, const mdist_nccl_api &nccl) : gpu_(gpu), nccl_(nccl) {
        unsigned char id[MDIST_GPU_ID_BYTES];
        gpu.require_nccl(nccl, nccl.unique_id(id), "making NCCL's id");
        gpu.require_nccl(nccl, nccl.init(&comm_, gpu.device(), 1, 0, id), "starting NCCL");
        settle("starting NCCL");
    }
    ~Alone() {
        if (comm_ == nullptr) return;
        gpu_.require_nccl(nccl_, nccl_.finalize(comm_), "ending NCCL");
        settle("ending NCCL");
        gpu_.require_nccl(nccl_, nccl_.destroy(comm_), "ending NCCL");
    }
    Alone(const Alone &) = delete;
    Alone &operator=(const Alone &) = delete;

    /// Waits until the last call is no longer in progress.
    void settle(const char *what) const {
        gpu_.poll(what, [&] {
            int error = 0;
            gpu_.require_nccl(nccl_, nccl_.async_error(comm_, &error), what);
            gpu_.require_nccl(nccl_, error, what);
            return nccl_.kind(error) != MDIST_GPU_NOT_READY;
        });
    }
    mdist_gpu_comm *comm() const { return comm_; }
    int abort() {
        const int error = nccl_.abort(comm_);
        comm_ = nullptr;
        return error;
    }

  private:
    const Gpu &gpu_;
    const mdist_nccl_api &nccl_;
    mdist_gpu_comm *comm_ = nullptr;
};

void check_nccl_types(const Gpu &gpu, const mdist_nccl_api &nccl) {
    const Alone alone(gpu, nccl);
    const Memory from(gpu, kBytes);
    const Memory to(gpu, kBytes);
    std::vector<unsigned char> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i % 64);
    gpu.upload(from.data(), bytes.data(), kBytes);
    for (int32_t dtype = MDIST_FLOAT32; dtype <= MDIST_UINT64; ++dtype) {
        bool right = true;
        for (const int32_t op : {MDIST_SUM, MDIST_MIN, MDIST_MAX, MDIST_PROD}) {
            gpu.require(gpu.api().fill(gpu.device(), to.data(), 0xff, kBytes, gpu.stream()), "fill");
            gpu.require_nccl(nccl,
                             nccl.all_reduce(alone.comm(), from.data(), to.data(), kBytes / dtype_size(dtype), dtype,
                                             op, gpu.stream()),
                             "all_reduce");
            alone.settle("all_reduce");
            std::vector<unsigned char> found(kBytes);
            gpu.download(found.data(), to.data(), kBytes);
            right = right && found == bytes;
        }
        gpu.checks().check(right, text("NCCL all_reduce ", dtype_name(dtype)), "one rank");
    }
    const int wrong = nccl.all_reduce(alone.comm(), from.data(), to.data(), 1, MDIST_INT32, MDIST_MEAN, gpu.stream());
    gpu.checks().check(nccl.kind(wrong) == MDIST_GPU_INVALID, "NCCL refuses a mean", "");
}

void check_nccl_group(const Gpu &gpu, const mdist_nccl_api &nccl) {
    const Alone alone(gpu, nccl);
    const Memory memory(gpu, kBytes);
    gpu.require(gpu.api().fill(gpu.device(), memory.data(), 3, kBytes, gpu.stream()), "fill");
    gpu.require_nccl(nccl, nccl.group_start(), "beginning a group");
    for (std::size_t part = 0; part < 8; ++part) {
        char *const data = memory.data() + part * kBytes / 8;
        gpu.require_nccl(nccl,
                         nccl.all_reduce(alone.comm(), data, data, kBytes / 8, MDIST_UINT8, MDIST_SUM, gpu.stream()),
                         "all_reduce");
    }
    gpu.require_nccl(nccl, nccl.group_end(), "ending a group");
    alone.settle("a group");
    gpu.wait();
    gpu.checks().ok("NCCL group of 8", "");
}

void check_nccl_abort(const Gpu &gpu, const mdist_nccl_api &nccl) {
    Alone alone(gpu, nccl);
    const Memory memory(gpu, kBytes);
    gpu.require(gpu.api().spin(gpu.device(), 200000, gpu.stream()), "spin");
    gpu.require_nccl(
        nccl, nccl.all_reduce(alone.comm(), memory.data(), memory.data(), kBytes, MDIST_UINT8, MDIST_SUM, gpu.stream()),
        "all_reduce");
    const auto begin = std::chrono::steady_clock::now();
    const int error = alone.abort();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    gpu.checks().check(error == 0 || nccl.kind(error) == MDIST_GPU_NOT_READY, "NCCL aborts while a kernel runs",
                       text(took.count(), " s"));
    gpu.wait();
}

void check_nccl(const Gpu &gpu) {
    std::string reason;
    const mdist_nccl_api *const nccl = nccl_api(reason);
    if (nccl == nullptr) return gpu.checks().skipped("NCCL", reason);
    gpu.checks().ok("NCCL", text("version ", nccl->version));
    check_nccl_types(gpu, *nccl);
    check_nccl_group(gpu, *nccl);
    check_nccl_abort(gpu, *nccl);
}

} // namespace
} // namespace mdist::gpu_test

SUBJECT(lifecycle) {
    using namespace mdist::gpu_test;
    Checks checks;
    const Gpu gpu(checks);
    check_order(gpu);
    check_kinds(gpu);
    check_reservation(gpu);
    check_leaks(gpu, static_cast<int>(option(argc, argv, "--rounds", gpu.is_fake() ? 20 : 2000)));
    check_capture(gpu);
    check_memory_while_recording(gpu);
    check_nccl(gpu);
    return checks.finish();
}
