// SPDX-License-Identifier: Apache-2.0
// One outcome of input for all workers, of work that each of them does alone first, and without the turn: it may call
// functions of the program's.
#pragma once

#include "comm/call.h"
#include "strategy/strategy.h"
#include "util/function_ref.h"

#include <string>
#include <vector>

namespace mdist {

/// Throws where the workers cannot speak with each other now: in a step, or while another thread has the turn.
void require_input_place(Strategy &strategy, CallKind kind);

/// Does `part` and returns what everybody's gave, by rank; or throws on all, in the same words, what the first of them
/// by rank threw. Their collectives go on as if nothing had been. `call` is alike on all, else that ends the job.
std::vector<std::string> on_all_workers(Strategy &strategy, const Call &call, FunctionRef<std::string()> part);

} // namespace mdist
