// SPDX-License-Identifier: Apache-2.0
// Faults that are asked for, calls counted, and what was done wrong with the fake. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fake_gpu {

enum class Fault { kNone, kFailed, kOutOfMemory, kInvalid, kFatal, kHang };

/// Counts a call of that name, and says what shall come of it.
Fault count_call(const char *name);
/// How often that name was called; "" for all.
uint64_t calls(const std::string &name);
/// "NAME@N", "NAME@N+", either with ":KIND": of the calls from now on, the Nth (and all behind it). False if it cannot
/// be read.
bool add_fault(const std::string &text);
void forget_faults();

/// Waits until a let_go() that came after the hang was begun, or until `released` says so.
uint64_t begin_hang();
void hang(
    uint64_t begun, const std::function<bool()> &released = [] { return false; });
void let_go();

/// Somebody did what is not allowed: a sentence for the report.
void note_problem(const std::string &sentence);
std::string problems(uint64_t &count);
void forget_problems();

} // namespace fake_gpu
