// SPDX-License-Identifier: Apache-2.0
// FUZZ_TARGET(yaml) { ...; return 0; } is a fuzz target: it takes one input, as `data` and `size`. It is a subject of
// the program `replay`. With -Dfuzz=true it is also a fuzzer, where libFuzzer calls it by a name that all targets
// share.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef MDIST_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
#define FUZZ_TARGET(name) int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
#else
#include "subject.h"

namespace mdist::test {

using FuzzTarget = int(const std::uint8_t *data, std::size_t size);
/// Runs a target over a corpus and mutations of it, as the arguments say; see replay.cpp.
int replay(FuzzTarget *target, int argc, char **argv);

} // namespace mdist::test

#define FUZZ_TARGET(name)                                     \
    static mdist::test::FuzzTarget take_##name;               \
    SUBJECT(name) {                                           \
        return mdist::test::replay(&take_##name, argc, argv); \
    }                                                         \
    static int take_##name(const std::uint8_t *data, std::size_t size)
#endif
