// SPDX-License-Identifier: Apache-2.0
// The symbols of libmdist-fake-gpu.so: the GPU module, and its controls for tests.
#include "fake_gpu.h"

#include "faults.h"
#include "memory.h"
#include "streams.h"
#include "tables.h"

#include <mdist/base.h>

#include <cstring>
#include <string>

namespace fake_gpu {
namespace {

void live(fake_gpu_live *out) {
    const LiveMemory memory = live_memory();
    *out = {memory.blocks,  memory.reservations, memory.pinned, memory.bytes,
            live_streams(), live_events(),       live_comms(),  live_graphs()};
}

uint64_t problems_of(char *text, size_t capacity) {
    uint64_t count = 0;
    const std::string all = problems(count);
    if (text != nullptr && capacity != 0) {
        const size_t length = all.copy(text, capacity - 1);
        text[length] = '\0';
    }
    return count;
}

uint64_t calls_of(const char *name) {
    return calls(name);
}

int32_t plan(const char *fault) {
    return add_fault(fault);
}

void reset() {
    forget_faults();
    let_go();
    mend_devices();
    forget_problems();
}

void *behind(const void *address, size_t bytes) {
    return for_kernel(0, address, bytes);
}

} // namespace
} // namespace fake_gpu

#define STRING_OF(x) #x
#define VERSION_TEXT(major, minor, patch) STRING_OF(major) "." STRING_OF(minor) "." STRING_OF(patch)
#define EXPORTED(symbol) __asm__(symbol) __attribute__((visibility("default")))

// In C++ a function cannot have the name of a type.
extern "C" const mdist_gpu_module *module_of_fake() EXPORTED("mdist_gpu_module");
extern "C" const fake_gpu_controls *controls_of_fake() EXPORTED("fake_gpu");

const mdist_gpu_module *module_of_fake() {
    static const mdist_gpu_module module = {
        .abi = MDIST_GPU_MODULE_ABI,
        .size = sizeof(mdist_gpu_module),
        .library_version = VERSION_TEXT(MDIST_VERSION_MAJOR, MDIST_VERSION_MINOR, MDIST_VERSION_PATCH),
        .name = "fake",
        .gpu = &fake_gpu::gpu_table,
        .nccl = fake_gpu::nccl_table,
    };
    return &module;
}

const fake_gpu_controls *controls_of_fake() {
    static const fake_gpu_controls controls = {
        .live = fake_gpu::live,
        .problems = fake_gpu::problems_of,
        .calls = fake_gpu::calls_of,
        .plan = fake_gpu::plan,
        .reset = fake_gpu::reset,
        .behind = fake_gpu::behind,
    };
    return &controls;
}
