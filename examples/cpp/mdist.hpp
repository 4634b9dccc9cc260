// SPDX-License-Identifier: Apache-2.0
// libmdist for C++17: a thin, header-only layer over <mdist/mdist.h>. Copy it into your project, with the folder mdist/
// beside it; it is no part of the library's ABI.
//
// - Classes own what they are named after and give it back when they go, in any order and on any thread, without
//   failing. They move and do not copy. `get()` is the C handle, for functions that are not bound here.
// - What fails throws mdist::Error. Constants are those of C (MDIST_SUM, MDIST_ERR_MISMATCH ...).
// - Steps, merges, maps and updates are lambdas. What one throws, on whichever thread, comes out of the call that ran
//   it, as it was thrown; the other replicas are released. Ending a thread inside of one (pthread_exit) ends the
//   program.
// - Threads: as in the C headers. A strategy does one thing at a time; a Replica belongs to the thread of its step;
//   values may be read from everywhere; iterators and started collectives are used by one thread at a time.
#pragma once

#include "mdist/checkpoint.hpp"
#include "mdist/config.hpp"
#include "mdist/context.hpp"
#include "mdist/dataset.hpp"
#include "mdist/memory.hpp"
#include "mdist/replica.hpp"
#include "mdist/run.hpp"
#include "mdist/strategy.hpp"
#include "mdist/value.hpp"
#include "mdist/variable.hpp"
#include "mdist/work.hpp"
