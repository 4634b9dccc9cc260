// SPDX-License-Identifier: Apache-2.0
#include <mdist/base.h>

#include <cstring>

uint32_t mdist_version(void) {
    return MDIST_VERSION;
}

// Backends say yes here once they are built in; everything else is honestly 0.
int32_t mdist_has(const char *feature) {
    if (feature == nullptr) return 0;
#if defined(__x86_64__)
    if (std::strcmp(feature, "avx2") == 0) return __builtin_cpu_supports("avx2") != 0;
    if (std::strcmp(feature, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
#endif
    return 0;
}
