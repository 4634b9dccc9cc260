// SPDX-License-Identifier: Apache-2.0
#include "checks.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "device/gpu/loader.h"
#include "util/text.h"

namespace mdist::gpu_test {
namespace {

void print(const char *verdict, const std::string &name, const std::string &detail) {
    std::printf("%s %s%s%s\n", verdict, name.c_str(), detail.empty() ? "" : " ", detail.c_str());
    std::fflush(stdout);
}

const mdist_gpu_module &module_or_exit(Checks &checks) {
    const GpuSupport &support = gpu_support();
    if (support.count > 0) return *support.module;
    checks.skipped("gpu", support.reason);
    checks.finish();
    std::exit(kNoGpu);
}

} // namespace

void Checks::ok(const std::string &name, const std::string &detail) {
    ++ok_;
    print("ok", name, detail);
}

void Checks::failed(const std::string &name, const std::string &detail) {
    ++failed_;
    print("not ok", name, detail);
}

void Checks::skipped(const std::string &name, const std::string &reason) {
    ++skipped_;
    print("skip", name, reason);
}

void Checks::check(bool right, const std::string &name, const std::string &detail) {
    right ? ok(name, detail) : failed(name, detail);
}

int Checks::finish() const {
    std::printf("%d ok, %d failed, %d skipped\n", ok_, failed_, skipped_);
    std::fflush(stdout);
    return failed_ != 0 ? 1 : 0;
}

Gpu::Gpu(Checks &checks) : checks_(checks), module_(module_or_exit(checks)), api_(*module_.gpu) {
    mdist_gpu_info info = {};
    require(api_.device_info(device(), &info), "asking what the GPU is");
    checks_.ok("gpu", text(info.name, ", compute ", info.compute_major, ".", info.compute_minor, ", ",
                           info.multiprocessors, " multiprocessors, ", info.memory_bytes >> 20, " MiB, driver ",
                           info.driver_version, ", runtime ", info.runtime_version, ", module ", module_.name));
    require(api_.stream_create(device(), 0, &stream_), "making a stream");
}

Gpu::~Gpu() {
    api_.stream_destroy(device(), stream_);
}

bool Gpu::is_fake() const {
    return std::strcmp(module_.name, "fake") == 0;
}

uint64_t Gpu::free_bytes() const {
    uint64_t free = 0;
    uint64_t total = 0;
    require(api_.memory_info(device(), &free, &total), "asking for free memory");
    return free;
}

void Gpu::require(int error, const char *what) const {
    if (error == 0) return;
    checks_.failed(what, text("error ", error, ", ", api_.text(error)));
    checks_.finish();
    std::_Exit(1);
}

void Gpu::require_nccl(const mdist_nccl_api &nccl, int error, const char *what) const {
    const int kind = nccl.kind(error);
    if (kind == MDIST_GPU_OK || kind == MDIST_GPU_NOT_READY) return;
    checks_.failed(what, text("error ", error, ", ", nccl.text(error), ": ", nccl.last_error(nullptr)));
    checks_.finish();
    std::_Exit(1);
}

void Gpu::give_up(const char *what) const {
    checks_.failed(what, "not done after one minute");
    checks_.finish();
    std::_Exit(1);
}

void Gpu::wait(mdist_gpu_stream *stream) const {
    poll("waiting for a stream", [&] {
        const int error = api_.stream_query(device(), stream);
        if (api_.kind(error) == MDIST_GPU_NOT_READY) return std::this_thread::yield(), false;
        require(error, "waiting for a stream");
        return true;
    });
}

void Gpu::warm_up() const {
    if (is_fake()) return;
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    const Memory memory(*this, kBytes);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < end) {
        for (int i = 0; i < 20; ++i) require(api_.fill(device(), memory.data(), i, kBytes, stream_), "warming up");
        wait();
    }
}

void Gpu::upload(void *to, const void *from, std::size_t bytes) const {
    require(api_.copy(device(), to, from, bytes, stream_), "copying to the GPU");
    wait();
}

void Gpu::download(void *to, const void *from, std::size_t bytes) const {
    require(api_.copy(device(), to, from, bytes, stream_), "copying from the GPU");
    wait();
}

Memory::Memory(const Gpu &gpu, std::size_t bytes) : gpu_(gpu) {
    gpu_.require(gpu_.api().allocate(gpu_.device(), bytes, &data_), "allocating memory");
}

Memory::~Memory() {
    if (data_ != nullptr) gpu_.api().release(gpu_.device(), data_);
}

uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise) {
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
    return otherwise;
}

} // namespace mdist::gpu_test
