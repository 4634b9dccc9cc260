// SPDX-License-Identifier: Apache-2.0
// Planned faults, counts of calls, and the mistakes of callers. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fake_gpu {

enum class Fault { kNone, kFailed, kOutOfMemory, kInvalid, kFatal, kHang };

/// Counts a call of that name, and returns the fault that is planned for it.
Fault count_call(const char *name);
/// Returns how often that name was called; "" counts all calls.
uint64_t calls(const std::string &name);
/// Plans a fault: "NAME@N" for the Nth call from now on, "NAME@N+" for that and all later ones. ":KIND" may follow.
/// Returns false if the text cannot be read.
bool add_fault(const std::string &text);
void forget_faults();

/// hang() returns after the first let_go() since begin_hang(), or when `released` returns true.
uint64_t begin_hang();
void hang(
    uint64_t begun, const std::function<bool()> &released = [] { return false; });
void let_go();

/// Records a sentence about something forbidden that a caller did.
void note_problem(const std::string &sentence);
std::string problems(uint64_t &count);
void forget_problems();

} // namespace fake_gpu
