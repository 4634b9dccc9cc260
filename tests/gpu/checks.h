// SPDX-License-Identifier: Apache-2.0
// Shared parts of the programs for a machine with a GPU: a line for each check, and a GPU and its memory through the
// module's table.
//
// The module is the one that the library finds ($MDIST_CUDA_MODULE); the programs do not link CUDA. Exit status: 0 if
// all checks pass, 1 if not, 77 if there is no GPU, 78 if there are fewer GPUs than the program needs.
#pragma once

#include "device/gpu/module.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mdist::gpu_test {

inline constexpr int kNoGpu = 77;
inline constexpr int kTooFewGpus = 78;

/// Each prints one line: "ok NAME DETAIL", "not ok NAME DETAIL" or "skip NAME REASON".
class Checks {
  public:
    void ok(const std::string &name, const std::string &detail);
    void failed(const std::string &name, const std::string &detail);
    void skipped(const std::string &name, const std::string &reason);
    void check(bool right, const std::string &name, const std::string &detail);
    /// Prints the last line, "N ok, N failed, N skipped", and returns the exit status.
    int finish() const;

  private:
    int ok_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
};

/// A GPU and a stream of it. An error prints a line and ends the program, since later results would be wrong, too.
class Gpu {
  public:
    /// Exits with 77 if there is no such GPU.
    explicit Gpu(Checks &checks);
    ~Gpu();
    Gpu(const Gpu &) = delete;
    Gpu &operator=(const Gpu &) = delete;

    const mdist_gpu_api &api() const { return api_; }
    const mdist_gpu_module &module() const { return module_; }
    bool is_fake() const;
    int32_t device() const { return 0; }
    mdist_gpu_stream *stream() const { return stream_; }
    Checks &checks() const { return checks_; }
    uint64_t free_bytes() const;

    void require(int error, const char *what) const;
    void require_nccl(const mdist_nccl_api &nccl, int error, const char *what) const;
    /// Waits until the stream has done all its work, at most one minute.
    void wait() const { wait(stream_); }
    void wait(mdist_gpu_stream *stream) const;
    /// Keeps a card busy until its clocks have risen. Call it before a measurement.
    void warm_up() const;
    void upload(void *to, const void *from, std::size_t bytes) const;
    void download(void *to, const void *from, std::size_t bytes) const;
    /// Calls f() until it is true, for one minute at most: less than tests/gpu/run gives a program.
    template <typename Function>
    void poll(const char *what, Function f) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        while (!f())
            if (std::chrono::steady_clock::now() > end) give_up(what);
    }

  private:
    [[noreturn]] void give_up(const char *what) const;

    Checks &checks_;
    const mdist_gpu_module &module_;
    const mdist_gpu_api &api_;
    mdist_gpu_stream *stream_ = nullptr;
};

/// Memory of the GPU.
class Memory {
  public:
    Memory(const Gpu &gpu, std::size_t bytes);
    ~Memory();
    Memory(Memory &&other) noexcept : gpu_(other.gpu_), data_(other.data_) { other.data_ = nullptr; }
    Memory &operator=(Memory &&other) = delete;

    char *data() const { return static_cast<char *>(data_); }

  private:
    const Gpu &gpu_;
    void *data_ = nullptr;
};

/// Returns the value of "--NAME VALUE" in a program's arguments, or the default.
uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise);

} // namespace mdist::gpu_test
