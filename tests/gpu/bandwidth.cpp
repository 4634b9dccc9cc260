// SPDX-License-Identifier: Apache-2.0
// Measures how fast kernels read and write memory, beside a plain copy on the same GPU. Each figure is the median of 21
// runs.
//
//     bandwidth [--most BYTES]      size of the largest array; default 512 MiB
#include <mdist/collective.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "checks.h"
#include "subject.h"
#include "util/dtype.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

constexpr int kRuns = 21;
/// Formats a rate with at least three digits: "4300", "12.5".
std::string rounded(double number) {
    return number >= 100 ? text(std::llround(number)) : exact_text(std::round(10 * number) / 10);
}

constexpr double kGoal = 0.85; // of a copy's rate

class Stopwatch {
  public:
    explicit Stopwatch(const Gpu &gpu) : gpu_(gpu) {
        for (auto &event : events_) gpu.require(gpu.api().event_create(gpu.device(), 1, &event), "making an event");
    }
    ~Stopwatch() {
        for (auto *event : events_) gpu_.api().event_destroy(gpu_.device(), event);
    }
    Stopwatch(const Stopwatch &) = delete;
    Stopwatch &operator=(const Stopwatch &) = delete;

    /// Returns the median time in ms of the work that this function puts on the stream.
    double measure(const std::function<int()> &put) const {
        std::vector<float> times(kRuns);
        for (int i = 0; i < 3; ++i) gpu_.require(put(), "warming up");
        for (float &time : times) {
            gpu_.require(gpu_.api().event_record(gpu_.device(), events_[0], gpu_.stream()), "recording");
            gpu_.require(put(), "running");
            gpu_.require(gpu_.api().event_record(gpu_.device(), events_[1], gpu_.stream()), "recording");
            gpu_.wait();
            gpu_.require(gpu_.api().event_elapsed(events_[0], events_[1], &time), "elapsed");
        }
        std::sort(times.begin(), times.end());
        return std::max(static_cast<double>(times[kRuns / 2]), 1e-6);
    }

  private:
    const Gpu &gpu_;
    mdist_gpu_event *events_[2] = {};
};

class Bandwidth {
  public:
    Bandwidth(const Gpu &gpu, std::size_t bytes) : gpu_(gpu), watch_(gpu), bytes_(bytes) {
        for (int i = 0; i < 8; ++i) arrays_.emplace_back(gpu, bytes);
        for (const Memory &array : arrays_)
            gpu.require(gpu.api().fill(gpu.device(), array.data(), 0, bytes, gpu.stream()), "fill");
    }

    void copy() {
        copy_rate_ = rate(2 * bytes_, [&] {
            return gpu_.api().copy(gpu_.device(), arrays_[1].data(), arrays_[0].data(), bytes_, gpu_.stream());
        });
        gpu_.checks().ok("bandwidth copy", text(rounded(copy_rate_), " GB/s of ", bytes_ >> 20, " MiB"));
    }

    /// An all-reduce of logical devices: all arrays are read, and all are written.
    void reduce(int32_t dtype, int32_t op, uint32_t count) {
        const std::vector<const void *> sources = addresses<const void *>(count);
        const std::vector<void *> destinations = addresses<void *>(count);
        const mdist_gpu_reduction reduction = {
            dtype, op, count, count, count, sources.data(), destinations.data(), bytes_ / dtype_size(dtype)};
        report(text("reduce ",
                    op == MDIST_MEAN  ? "mean "
                    : op == MDIST_MAX ? "max "
                                      : "sum ",
                    dtype_name(dtype), " of ", count),
               2 * count * bytes_, kGoal,
               [&] { return gpu_.api().reduce(gpu_.device(), &reduction, 1, gpu_.stream()); });
    }

    /// Packs the tensors of a model into a bucket: most are small, some large.
    void pack() {
        std::vector<mdist_gpu_stretch> stretches;
        std::size_t at = 0;
        for (std::size_t i = 0; at < bytes_; ++i) {
            const std::size_t length = std::min((i % 4 == 0 ? bytes_ / 64 : bytes_ / 1024) / 16 * 16 + 16, bytes_ - at);
            stretches.push_back({arrays_[1].data() + at, arrays_[0].data() + at, length});
            at += length;
        }
        report(text("pack ", stretches.size(), " tensors"), 2 * bytes_, kGoal,
               [&] { return gpu_.api().copy_many(gpu_.device(), stretches.data(), stretches.size(), gpu_.stream()); });
    }

    void cast(int32_t from, int32_t to) {
        const std::size_t elements = bytes_ / std::max(dtype_size(from), dtype_size(to));
        report(text("cast ", dtype_name(from), " to ", dtype_name(to)), elements * (dtype_size(from) + dtype_size(to)),
               0, [&] {
                   return gpu_.api().cast(gpu_.device(), to, arrays_[1].data(), from, arrays_[0].data(), 0.5, elements,
                                          gpu_.stream());
               });
    }

    void squares() {
        auto *const sum = static_cast<double *>(static_cast<void *>(arrays_[1].data()));
        const Memory room(gpu_, MDIST_GPU_SQUARES_ROOM);
        report("squares float32", bytes_, 0, [&] {
            const mdist_gpu_squares item = {MDIST_FLOAT32, arrays_[0].data(), bytes_ / 4, sum};
            return gpu_.api().squares(gpu_.device(), &item, 1, room.data(), gpu_.stream());
        });
    }

    void launches() {
        const std::vector<const void *> sources = addresses<const void *>(2);
        const std::vector<void *> destinations = addresses<void *>(2);
        const mdist_gpu_reduction one = {MDIST_FLOAT32, MDIST_SUM, 1, 2, 2, sources.data(), destinations.data(), 256};
        constexpr int kLaunches = 1000;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < kLaunches; ++i)
            gpu_.require(gpu_.api().reduce(gpu_.device(), &one, 1, gpu_.stream()), "reduce");
        const std::chrono::duration<double, std::micro> put = std::chrono::steady_clock::now() - begin;
        gpu_.wait();
        const std::chrono::duration<double, std::micro> done = std::chrono::steady_clock::now() - begin;
        gpu_.checks().ok("launch reduce of 256", text(rounded(put.count() / kLaunches), " us to put on a stream, ",
                                                      rounded(done.count() / kLaunches), " us each until done"));
    }

  private:
    template <typename Pointer>
    std::vector<Pointer> addresses(uint32_t count) const {
        std::vector<Pointer> all;
        for (uint32_t i = 0; i < count; ++i) all.push_back(arrays_[i].data());
        return all;
    }

    double rate(std::size_t bytes, const std::function<int()> &put) const {
        return static_cast<double>(bytes) / watch_.measure(put) / 1e6;
    }

    void report(const std::string &name, std::size_t bytes, double goal, const std::function<int()> &put) {
        const double found = rate(bytes, put);
        const double share = found / copy_rate_;
        gpu_.checks().check(share >= goal || gpu_.is_fake(), "bandwidth " + name,
                            text(rounded(found), " GB/s, ", rounded(100 * share), " % of a copy",
                                 goal > 0 ? text(", the goal is ", rounded(100 * goal), " %") : ""));
    }

    const Gpu &gpu_;
    const Stopwatch watch_;
    const std::size_t bytes_;
    std::vector<Memory> arrays_;
    double copy_rate_ = 1;
};

} // namespace
} // namespace mdist::gpu_test

SUBJECT(bandwidth) {
    using namespace mdist::gpu_test;
    Checks checks;
    const Gpu gpu(checks);
    const std::size_t bytes = option(argc, argv, "--most", gpu.is_fake() ? 4096 : std::size_t{512} << 20) / 256 * 256;
    gpu.warm_up();
    Bandwidth bandwidth(gpu, bytes);
    bandwidth.copy();
    for (const uint32_t count : {2u, 4u, 8u}) bandwidth.reduce(MDIST_FLOAT32, MDIST_SUM, count);
    for (const uint32_t count : {2u, 4u, 8u}) bandwidth.reduce(MDIST_BFLOAT16, MDIST_SUM, count);
    bandwidth.reduce(MDIST_FLOAT32, MDIST_MEAN, 3);
    bandwidth.reduce(MDIST_FLOAT32, MDIST_MAX, 4);
    bandwidth.pack();
    bandwidth.cast(MDIST_FLOAT32, MDIST_BFLOAT16);
    bandwidth.cast(MDIST_BFLOAT16, MDIST_FLOAT32);
    bandwidth.squares();
    bandwidth.launches();
    return checks.finish();
}
