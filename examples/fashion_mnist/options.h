// SPDX-License-Identifier: Apache-2.0
// Options: the command line, checked.
#pragma once

#include <stdint.h>

typedef struct Options {
    uint64_t replicas;   // 0: what the configuration says, else 2
    const char *devices; // NULL: likewise; not both
    uint64_t epochs;
    uint64_t batch;         // over all replicas
    uint64_t limit_steps;   // 0: none
    const char *config;     // NULL: none
    const char *checkpoint; // NULL: none
    const char *data;
    const char *records; // NULL: data
} Options;

// Returns -1 to go on, or the exit status: 0 after --help, 2 after a sentence on stderr.
int options_parse(int argument_count, char **arguments, Options *out);
