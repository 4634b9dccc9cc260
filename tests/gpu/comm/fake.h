// SPDX-License-Identifier: Apache-2.0
// The controls of the simulated GPU, for a program that runs on it.
#pragma once

#include "../../fake_gpu/fake_gpu.h"

#include <cstdlib>

#include <dlfcn.h>

inline const fake_gpu_controls *fake_gpu() {
    static const fake_gpu_controls *const controls = [] {
        void *const module = dlopen(std::getenv("MDIST_CUDA_MODULE"), RTLD_NOW | RTLD_LOCAL);
        return reinterpret_cast<fake_gpu_controls_fn>(dlsym(module, FAKE_GPU_SYMBOL))();
    }();
    return controls;
}
