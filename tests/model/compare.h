// SPDX-License-Identifier: Apache-2.0
// Compares programs with the model, and shortens a program that differs.
#pragma once

#include "program.h"

/// Makes a strategy with these devices; NULL if that failed.
mdist_strategy_t *strategy_on(const char *devices);
/// Performs the program once; 0 if nothing differs.
int differs(mdist_strategy_t *strategy, const Program *program);
/// Performs the program, and prints it if anything differs.
int differs_and_print(mdist_strategy_t *strategy, const Program *program);
/// Drops all operations that the difference does not need, and prints the rest. For programs of one worker. It makes
/// its own strategies with these devices.
void shrink_and_print(const char *devices, Program *program);
