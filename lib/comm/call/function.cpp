// SPDX-License-Identifier: Apache-2.0
#include "comm/call/function.h"

#include "util/fnv.h"

#include <atomic>

namespace mdist {
namespace {

constinit std::atomic<const CallFunction *> first_function{nullptr}; // constinit: initialized before any CallFunction

} // namespace

CallFunction::CallFunction(const char *name, Pattern pattern) noexcept
    : name_(name),
      hash_(fnv1a(name) ^ static_cast<uint64_t>(pattern) << 32),
      pattern_(pattern),
      next_(first_function.load(std::memory_order_relaxed)) {
    while (!first_function.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

const CallFunction *CallFunction::find(uint64_t hash) noexcept {
    const CallFunction *function = first_function.load(std::memory_order_acquire);
    while (function != nullptr && function->hash_ != hash) function = function->next_;
    return function;
}

} // namespace mdist
