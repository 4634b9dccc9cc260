// SPDX-License-Identifier: Apache-2.0
// For tests of the simulated GPU itself: its tables, and helpers that many of them need.
#pragma once

#include "device/gpu/module.h"
#include "fake_gpu.h"
#include "time_limits.h"

#include <mdist/collective.h>
#include <mdist/tensor.h>

#include <array>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

extern "C" {
#include <cmocka.h> // last: its macros have everyday names
}

namespace fake_gpu {

struct Fake {
    const mdist_gpu_module *module;
    const mdist_gpu_api &gpu;
    const fake_gpu_controls &controls;
};

/// Loads the module at the first call. Set MDIST_FAKE_GPU before that.
inline const Fake &fake() {
    static const Fake once = [] {
        void *file = dlopen(MDIST_TEST_FAKE_GPU, RTLD_NOW | RTLD_LOCAL);
        if (file == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::abort();
        const auto module = reinterpret_cast<mdist_gpu_module_fn>(dlsym(file, MDIST_GPU_MODULE_SYMBOL))();
        const auto controls = reinterpret_cast<fake_gpu_controls_fn>(dlsym(file, FAKE_GPU_SYMBOL))();
        return Fake{module, *module->gpu, *controls};
    }();
    return once;
}

inline const mdist_nccl_api &nccl() {
    const char *reason = nullptr;
    const mdist_nccl_api *table = fake().module->nccl(&reason);
    if (table == nullptr) std::fprintf(stderr, "no NCCL: %s\n", reason), std::abort();
    return *table;
}

/// Waits until the stream has done everything, and returns its error.
inline int finish(int32_t device, mdist_gpu_stream *stream) {
    for (;;) {
        const int error = fake().gpu.stream_query(device, stream);
        if (fake().gpu.kind(error) != MDIST_GPU_NOT_READY) return error;
        nap();
    }
}

inline uint64_t problem_count() {
    char text[2000];
    const uint64_t count = fake().controls.problems(text, sizeof text);
    if (count != 0) std::fprintf(stderr, "%s", text);
    return count;
}

/// A stream of a GPU, and GPU memory for `count` floats.
struct Worker {
    int32_t device;
    mdist_gpu_stream *stream = nullptr;
    float *data = nullptr;
    size_t count;

    Worker(int32_t index, size_t floats) : device(index), count(floats) {
        assert_int_equal(fake().gpu.stream_create(device, 0, &stream), 0);
        void *memory = nullptr;
        assert_int_equal(fake().gpu.allocate(device, floats * sizeof(float), &memory), 0);
        data = static_cast<float *>(memory);
    }
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;
    ~Worker() {
        fake().gpu.release(device, data);
        fake().gpu.stream_destroy(device, stream);
    }

    void put(const float *values) {
        assert_int_equal(fake().gpu.copy(device, data, values, count * sizeof(float), stream), 0);
        assert_int_equal(finish(device, stream), 0);
    }
    void get(float *values) {
        assert_int_equal(fake().gpu.copy(device, values, data, count * sizeof(float), stream), 0);
        assert_int_equal(finish(device, stream), 0);
    }
};

/// Adds `count` floats to those at `to`, or combines the two by another op.
inline int add(int32_t device, void *to, const void *from, size_t count, mdist_gpu_stream *stream,
               int32_t op = MDIST_SUM) {
    const void *const sources[] = {to, from};
    const mdist_gpu_reduction sum = {MDIST_FLOAT32, op, 1, 2, 1, sources, &to, count};
    return fake().gpu.reduce(device, &sum, 1, stream);
}

} // namespace fake_gpu
