// SPDX-License-Identifier: Apache-2.0
#include <mdist/base.h>

#include <exception>
#include <string_view>

#include "comm/links/gloo.h"
#include "comm/membership/secret.h"
#include "reduce/reduce.h"

uint32_t mdist_version(void) {
    return MDIST_VERSION;
}

namespace {

/// Loads it, as nothing else can tell.
bool has_gloo() noexcept {
    try {
        return mdist::gloo_available();
    } catch (const std::exception &) { // out of memory
        return false;
    }
}

} // namespace

// Backends say yes here once they are built in; everything else is honestly 0.
int32_t mdist_has(const char *feature) {
    using mdist::reduce::InstructionSet;
    const std::string_view name = feature == nullptr ? "" : feature;
    if (name == "avx2") return mdist::reduce::available(InstructionSet::kAvx2);
    if (name == "avx512") return mdist::reduce::available(InstructionSet::kAvx512);
    if (name == "gloo") return has_gloo();
    if (name == "secret") return mdist::secrets_are_built();
    if (name == "shm" || name == "tcp") return 1;
    return 0;
}
