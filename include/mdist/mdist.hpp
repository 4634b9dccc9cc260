// SPDX-License-Identifier: Apache-2.0
// libmdist for C++17: a thin, header-only layer over <mdist/mdist.h>. It is not part of the library's ABI.
//
// - Ownership: each class owns the object that it is named after, and releases it when destroyed. Objects may be
//   destroyed in any order and on any thread; this never fails. Classes can be moved, not copied. `get()` returns the C
//   handle, for functions that have no C++ form here.
// - Errors: a failure throws mdist::Error. Constants are those of C (MDIST_SUM, MDIST_ERR_MISMATCH ...).
// - Callbacks: steps, merges, maps and updates are lambdas. An exception from one, on any thread, is rethrown unchanged
//   by the call that ran it; the other replicas are released. Ending a thread inside a lambda (pthread_exit) ends the
//   program.
// - Threads: as in the C headers. A strategy does one thing at a time. A Replica belongs to the thread of its step. Any
//   thread may read values. Iterators and started collectives are used by one thread at a time.
#pragma once

#include <mdist/checkpoint.hpp>
#include <mdist/config.hpp>
#include <mdist/context.hpp>
#include <mdist/dataset.hpp>
#include <mdist/dlpack.hpp>
#include <mdist/elastic.hpp>
#include <mdist/gradients.hpp>
#include <mdist/loop.hpp>
#include <mdist/memory.hpp>
#include <mdist/names.hpp>
#include <mdist/operator.hpp>
#include <mdist/options.hpp>
#include <mdist/prepared.hpp>
#include <mdist/replica.hpp>
#include <mdist/run.hpp>
#include <mdist/strategy.hpp>
#include <mdist/value.hpp>
#include <mdist/variable.hpp>
#include <mdist/work.hpp>
