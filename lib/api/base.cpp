// SPDX-License-Identifier: Apache-2.0
#include <mdist/base.h>

#include <exception>
#include <string>
#include <string_view>

#include "device/gpu/loader.h"
#include "membership/protocol/secret.h"
#include "reduce/variants.h"

uint32_t mdist_version(void) {
    return MDIST_VERSION;
}

namespace {

/// Loads the module and asks CUDA.
bool has_gpus() noexcept {
    try {
        return mdist::gpu_support().count > 0;
    } catch (const std::exception &) { // out of memory
        return false;
    }
}

bool has_nccl() noexcept {
    try {
        std::string reason;
        return mdist::nccl_api(reason) != nullptr;
    } catch (const std::exception &) { // out of memory
        return false;
    }
}

} // namespace

int32_t mdist_has(const char *feature) {
    using mdist::reduce::InstructionSet;
    const std::string_view name = feature == nullptr ? "" : feature;
    if (name == "avx2") return mdist::reduce::available(InstructionSet::kAvx2);
    if (name == "avx512") return mdist::reduce::available(InstructionSet::kAvx512);
    if (name == "cuda") return has_gpus();
    if (name == "nccl") return has_nccl();
    if (name == "secret") return mdist::secrets_are_built();
    if (name == "shm" || name == "tcp") return 1;
    return 0;
}
