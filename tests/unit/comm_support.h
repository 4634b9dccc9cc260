// SPDX-License-Identifier: Apache-2.0
// What tests of the group share: calls that are torn up at the end of their life.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Its header does not say so itself.
extern "C" {
#include <cmocka.h>
}
#undef fail // its macro, the group's member

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/collectives.h"
#include "comm/local/group.h"
#include "random.h"
#include "util/log.h"

namespace mdist {

constexpr uint64_t kNoTimeout = 3'600'000'000'000u;

/// A call with its buffers, unreadable after its life.
struct OwnedCall {
    std::vector<mdist_buffer_t> buffers;
    std::string words;
    Call call;

    OwnedCall(CallKind kind, uint64_t subject, std::size_t count) : buffers(count), words("words"), call() {
        static float element;
        for (mdist_buffer_t &buffer : buffers) buffer = {&element, 1, MDIST_FLOAT32, 0};
        call.kind = kind;
        call.subject = subject;
        call.subject_text = words.c_str();
        call.inputs = call.outputs = buffers.data();
        call.buffer_count = count;
    }
    ~OwnedCall() {
        for (mdist_buffer_t &buffer : buffers) std::memset(&buffer, 0xdd, sizeof buffer);
        std::memset(static_cast<void *>(&call), 0xdd, sizeof call);
    }
};

} // namespace mdist
