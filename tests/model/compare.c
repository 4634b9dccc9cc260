// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include "model.h"
#include "perform.h"

#include <stdio.h>

int differs(mdist_strategy_t *strategy, const Program *program) {
    Performance performance;
    return perform_program(&performance, strategy, program);
}

static void tell(const Program *program, const Performance *performance) {
    print_program(program, performance->where);
    fprintf(stderr, "   differs: %s\n", performance->what);
}

int differs_and_print(mdist_strategy_t *strategy, const Program *program) {
    Performance performance;
    const int found = perform_program(&performance, strategy, program);
    if (found) tell(program, &performance);
    return found;
}

mdist_strategy_t *strategy_on(const char *devices) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    if (mdist_config_create(&config, NULL) == MDIST_OK &&
        mdist_config_set(config, "devices", devices, NULL) == MDIST_OK)
        mdist_strategy_create(config, &strategy, NULL);
    mdist_config_destroy(config);
    return strategy;
}

static int differs_anew(const char *devices, Program *program, Performance *performance) {
    mdist_strategy_t *const strategy = strategy_on(devices);
    evaluate_program(program);
    const int found = strategy != NULL && perform_program(performance, strategy, program);
    mdist_strategy_destroy(strategy);
    return found;
}

/// Drops the operations of a block that the difference does not need, starting with the last.
static void shrink_block(const char *devices, Program *program, Block *block) {
    Performance performance;
    for (int i = block->count; i-- > 0;) {
        Operation *const operation = block->operations[i];
        if (operation->dropped) continue;
        operation->dropped = 1;
        if (differs_anew(devices, program, &performance)) continue;
        operation->dropped = 0;
        if (operation->block != NULL) shrink_block(devices, program, operation->block);
    }
}

void shrink_and_print(const char *devices, Program *program) {
    Performance performance;
    shrink_block(devices, program, &program->block);
    const int found = differs_anew(devices, program, &performance);
    if (!found) fprintf(stderr, "the difference does not occur again:\n");
    found ? tell(program, &performance) : print_program(program, NULL);
}
