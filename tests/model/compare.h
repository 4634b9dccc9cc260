// SPDX-License-Identifier: Apache-2.0
// Programs compared with the model, and what differs made short.
#pragma once

#include "program.h"

/// NULL if there is none.
mdist_strategy_t *strategy_on(const char *devices);
/// Performs it once; 0 if nothing differs.
int differs(mdist_strategy_t *strategy, const Program *program);
/// Performs it, and prints it if it differs.
int differs_and_print(mdist_strategy_t *strategy, const Program *program);
/// Drops all that the difference does not need, and prints the rest; of one worker, on strategies of its own with these
/// devices.
void shrink_and_print(const char *devices, Program *program);
