// SPDX-License-Identifier: Apache-2.0
// Options: reads and checks the command line.
#pragma once

#include <stdint.h>

typedef struct Options {
    uint64_t replicas;   // 0: as in the configuration, or 2
    const char *devices; // NULL: likewise; set only one of the two
    uint64_t epochs;
    uint64_t batch;         // over all replicas
    uint64_t limit_steps;   // 0: none
    int elastic;            // the number of replicas is then elastic.replicas of the configuration
    uint64_t commit;        // steps between two commits of an elastic job
    int mirrored;           // nothing in an elastic job belongs to one replica
    const char *config;     // NULL: none
    const char *checkpoint; // NULL: none
    const char *data;
    const char *records; // NULL: data
} Options;

// Returns -1 if the program should continue, else its exit status: 0 after --help, 2 after a message on stderr.
int options_parse(int argument_count, char **arguments, Options *out);
