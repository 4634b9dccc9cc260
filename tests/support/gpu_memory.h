// SPDX-License-Identifier: Apache-2.0
// Allocates, writes and reads GPU memory as a program would, through the module that the library loads
// ($MDIST_CUDA_MODULE). Nothing here asserts.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <mdist/mdist.h>

#include "device/gpu/module.h"

/// Returns the module's table of functions; NULL if there is no module.
static inline __attribute__((unused)) const mdist_gpu_api *gpu_module(void) {
    const char *const path = getenv("MDIST_CUDA_MODULE");
    void *const module = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mdist_gpu_module_fn function = NULL;
    void *const symbol = module == NULL ? NULL : dlsym(module, MDIST_GPU_MODULE_SYMBOL);
    memcpy(&function, &symbol, sizeof function);
    return function == NULL ? NULL : function()->gpu;
}

/// Returns the physical GPU of a local replica; -1 on the CPU.
static inline __attribute__((unused)) int32_t gpu_of_replica(const mdist_strategy_t *strategy, uint32_t local) {
    char name[32] = "";
    if (mdist_strategy_device(strategy, local, name, sizeof name, NULL, NULL) != MDIST_OK) return -1;
    return strncmp(name, "gpu:", 4) == 0 ? atoi(name + 4) : -1;
}

static inline __attribute__((unused)) void *gpu_allocate(int32_t gpu, size_t bytes) {
    void *memory = NULL;
    if (gpu_module() == NULL || gpu_module()->allocate(gpu, bytes, &memory) != 0) abort();
    return memory;
}

static inline __attribute__((unused)) void gpu_release(int32_t gpu, void *memory) {
    if (memory != NULL) gpu_module()->release(gpu, memory);
}
