// SPDX-License-Identifier: Apache-2.0
// GPU modules that the loader must refuse. Each is built from this file with one DUMMY_... macro.
#include "device/gpu/module.h"

#ifndef DUMMY_ABI
#define DUMMY_ABI MDIST_GPU_MODULE_ABI
#endif
#ifndef DUMMY_SIZE
#define DUMMY_SIZE sizeof(mdist_gpu_module)
#endif
#ifndef DUMMY_TABLE_SIZE
#define DUMMY_TABLE_SIZE sizeof(mdist_gpu_api)
#endif
#ifndef DUMMY_VERSION
#define DUMMY_VERSION "0.3.0"
#endif

// No function in it may be called, since all are missing.
static const mdist_gpu_api table = {.kind_size = (uint32_t)DUMMY_TABLE_SIZE};
static const mdist_gpu_module module = {
    .abi = DUMMY_ABI,
    .size = (uint32_t)DUMMY_SIZE,
    .library_version = DUMMY_VERSION,
    .name = "dummy",
    .gpu = &table,
};

#ifdef DUMMY_NO_SYMBOL
const mdist_gpu_module *another_name(void);
const mdist_gpu_module *another_name(void) {
    return &module;
}
#else
const mdist_gpu_module *offer(void) __asm__(MDIST_GPU_MODULE_SYMBOL);
const mdist_gpu_module *offer(void) {
#ifdef DUMMY_NOTHING
    return (void)module, NULL;
#else
    return &module;
#endif
}
#endif
