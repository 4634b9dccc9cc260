// SPDX-License-Identifier: Apache-2.0
#include "gpu_support.h"

const mdist_gpu_api *gpus;
const fake_gpu_controls *fake;

void load_fake(const char *options) {
    setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 1);
    const char *const too = getenv("MDIST_TEST_FAKE_GPU_TOO");
    char all[256];
    snprintf(all, sizeof all, "%s%s%s", options, too != NULL ? "," : "", too != NULL ? too : "");
    setenv("MDIST_FAKE_GPU", all, 1);
    unsetenv("MDIST_DEVICES");
    void *const file = dlopen(MDIST_TEST_FAKE_GPU, RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    mdist_gpu_module_fn module;
    fake_gpu_controls_fn controls;
    *(void **)&module = dlsym(file, MDIST_GPU_MODULE_SYMBOL);
    *(void **)&controls = dlsym(file, FAKE_GPU_SYMBOL);
    gpus = module()->gpu;
    fake = controls();
}
