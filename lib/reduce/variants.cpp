// SPDX-License-Identifier: Apache-2.0
#include "reduce/variants.h"

#ifdef MDIST_REDUCE_X86
#include <cpuid.h>
#endif

namespace mdist::reduce {
namespace {

#ifdef MDIST_REDUCE_X86
// clang 14 has no name for F16C in __builtin_cpu_supports.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// The builtin also checks that the operating system saves the registers.
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

} // namespace

bool available(InstructionSet set) noexcept {
#ifdef MDIST_REDUCE_X86
    __builtin_cpu_init();
    if (set == InstructionSet::kAvx512) return has_avx512();
    if (set == InstructionSet::kAvx2) return has_avx2();
#endif
    return set == InstructionSet::kBaseline;
}

InstructionSet best_instruction_set() noexcept {
    static const InstructionSet best = available(InstructionSet::kAvx512) ? InstructionSet::kAvx512
                                       : available(InstructionSet::kAvx2) ? InstructionSet::kAvx2
                                                                          : InstructionSet::kBaseline;
    return best;
}

const KernelTable &table_of(InstructionSet set) noexcept {
#ifdef MDIST_REDUCE_X86
    if (set == InstructionSet::kAvx512) return avx512::table;
    if (set == InstructionSet::kAvx2) return avx2::table;
#endif
    (void)set;
    return baseline::table;
}

} // namespace mdist::reduce
