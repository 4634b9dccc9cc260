// SPDX-License-Identifier: Apache-2.0
// Shortage jobs: the program of a test whose workers run short of memory, in one function after the other.
#pragma once

#include "../multi/multi.h"

/// Does the work of main(). For each name, jobs run the scenario `shortages`: over shared memory, over sockets and by
/// relays. There, getenv("TEST_WHAT") is the name, and getenv("TEST_FOLDER") a folder that is removed after all jobs.
/// The last worker is the one to run short. `name(i)` is NULL behind the last name.
int shortage_main(int argument_count, char **arguments, Scenario shortages, const char *(*name)(size_t i));
