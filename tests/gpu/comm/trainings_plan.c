// SPDX-License-Identifier: Apache-2.0
#include "trainings_plan.h"

#include "../../support/random.h"

#include <mdist/collective.h>
#include <stdio.h>

uint64_t draw(uint64_t *state, uint64_t below) {
    return draw_from(state, below);
}

/// Draws a call that fails on one worker.
static void break_one(Plan *plan, uint64_t *state) {
    static const char *const functions[] = {"device_info",
                                            "can_reach",
                                            "allocate",
                                            "commit",
                                            "allocate_pinned",
                                            "memory_kind",
                                            "stream_query",
                                            "stream_wait",
                                            "event_create",
                                            "event_record",
                                            "event_query",
                                            "stream_create",
                                            "copy",
                                            "fill",
                                            "copy_many",
                                            "reduce",
                                            "assign",
                                            "squares",
                                            "cast",
                                            "job",
                                            "nccl_init",
                                            "nccl_async_error",
                                            "nccl_group_start",
                                            "nccl_group_end",
                                            "nccl_reduce",
                                            "nccl_finalize",
                                            "nccl_all_reduce",
                                            "nccl_all_gather",
                                            "nccl_reduce_scatter",
                                            "nccl_broadcast",
                                            "capture_begin",
                                            "capture_end",
                                            "graph_launch"};
    static const char *const kinds[] = {"failed", "out_of_memory", "invalid", "fatal"};
    plan->victim = (uint32_t)draw(state, plan->workers);
    const char *const function = functions[draw(state, sizeof functions / sizeof *functions)];
    const unsigned number = 1 + (unsigned)draw(state, draw(state, 2) == 0 ? 10 : 200);
    snprintf(plan->fault, sizeof plan->fault, ",fail=%s@%u:%s", function, number, kinds[draw(state, 4)]);
}

Plan plan_of(uint64_t seed) {
    static const char *const reaches[] = {"1", "0", "pairs", "fours"};
    static const int32_t types[] = {MDIST_FLOAT32, MDIST_FLOAT32, MDIST_BFLOAT16, MDIST_FLOAT64, MDIST_FLOAT16};
    uint64_t state = seed * 2654435761u + 99;
    Plan plan = {.seed = seed};
    plan.replicas = 1 + (uint32_t)draw(&state, MOST_HERE);
    plan.workers = 1 + (uint32_t)draw(&state, plan.replicas < 4 ? plan.replicas : 4);
    for (uint32_t i = 0; i < plan.workers; ++i) plan.counts[i] = 1;
    for (uint32_t left = plan.replicas - plan.workers; left > 0; --left) ++plan.counts[draw(&state, plan.workers)];
    plan.per_card = draw(&state, 2) == 0 ? 1 : 1 + (uint32_t)draw(&state, 4);
    plan.reach = reaches[draw(&state, 4)];
    plan.delay_us = (uint32_t)(draw(&state, 3) * draw(&state, 150));
    plan.blocking = draw(&state, 4) == 0;
    plan.exact = plan.per_card == 1 && draw(&state, 2) == 0;
    plan.op = plan.exact || draw(&state, 2) == 0 ? MDIST_SUM : MDIST_MEAN;
    plan.tensors = 1 + (uint32_t)draw(&state, MOST_TENSORS);
    for (uint32_t i = 0; i < plan.tensors; ++i) {
        plan.dtypes[i] = types[draw(&state, plan.exact ? 4 : 5)];
        plan.elements[i] = 1 + (uint32_t)draw(&state, draw(&state, 3) == 0 ? MOST_ELEMENTS : 70);
    }
    plan.steps = 2 + (uint32_t)draw(&state, 5);
    for (uint32_t i = 0; i < plan.steps; ++i) plan.ways[i] = (Way)draw(&state, WAYS);
    plan.clip = !plan.exact && draw(&state, 2) == 0 ? 1.5 : 0;
    if (draw(&state, 3) == 0) break_one(&plan, &state);
    plan.graphs = draw(&state, 2) == 0;
    for (uint32_t i = 2; i < plan.steps && plan.graphs; ++i) plan.ways[i] = plan.ways[i % 2];
    return plan;
}
