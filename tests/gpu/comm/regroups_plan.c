// SPDX-License-Identifier: Apache-2.0
#include "regroups_plan.h"

#include <stdio.h>
#include <string.h>

const char *name_of_loss(Loss loss) {
    static const char *const names[LOSSES] = {
        "one killed",         "two killed",          "two killed, one in the regroup",
        "all but one killed", "killed and replaced", "newcomers join",
        "one dismissed",      "one leaves",          "a GPU fails",
        "a call fails once",  "a GPU hangs"};
    return names[loss];
}

static uint32_t drawn(uint64_t *state, uint32_t first, uint32_t count) {
    return first + (uint32_t)draw(state, count);
}

/// What is trained: as in a job of fixed size, with more steps, and with state and input of its own.
static void draw_training(Plan *plan, uint64_t *state) {
    plan->fault[0] = '\0';
    if (plan->replicas == 1 && draw(state, 4) != 0) plan->replicas = drawn(state, 2, MOST_HERE - 1);
    plan->steps = drawn(state, 4, MOST_STEPS - 3);
    for (uint32_t i = 0; i < plan->steps; ++i) plan->ways[i] = (Way)draw(state, WAYS);
    for (uint32_t i = 2; i < plan->steps && plan->graphs; ++i) plan->ways[i] = plan->ways[i % 2];
    plan->own = (int)draw(state, 2);
    plan->lent = draw(state, 3) == 0;
    if (draw(state, 2) == 0) return;
    plan->rows = drawn(state, 20, 300);
    plan->batch = drawn(state, 1, 4 * plan->replicas);
    plan->shuffled = drawn(state, 1, plan->rows);
    plan->fetch = (int32_t)draw(state, 3) - 1;
}

/// Deals 1 to 8 cards out to the first workers. A worker without one shares the first card. Newcomers have any.
static void draw_devices(Regroups *out, uint64_t *state) {
    const uint32_t cards = drawn(state, 1, 8);
    uint32_t owners[8];
    for (uint32_t card = 0; card < cards; ++card) owners[card] = (uint32_t)draw(state, out->size);
    for (uint32_t worker = 0; worker < MOST_STARTED; ++worker) {
        char *const text = out->devices[worker];
        const size_t room = sizeof out->devices[0];
        for (uint32_t card = 0; card < cards; ++card) {
            if (worker < out->size ? owners[card] != worker : draw(state, 4) != 0) continue;
            const size_t used = strlen(text);
            snprintf(text + used, room - used, draw(state, 4) == 0 ? "%sgpu:%u*2" : "%sgpu:%u", used == 0 ? "" : ",",
                     (unsigned)card);
        }
        if (text[0] == '\0') snprintf(text, room, "gpu:0");
    }
}

/// A moment within a call: many make few calls of the system, some make a hundred.
static uint32_t draw_moment(uint64_t *state) {
    const uint32_t most = 1u << draw(state, 8);
    return drawn(state, 1, most);
}

static Death draw_death(const Regroups *out, uint64_t *state, Place place) {
    const Plan *const plan = &out->plan;
    Death death = {.place = place, .moment = draw_moment(state)};
    death.timed = draw(state, 2) == 0 || (place != IN_STEP && !plan->own);
    death.point = (Point)draw(state, POINTS);
    death.local = (uint32_t)draw(state, MOST_HERE);
    death.at = place == IN_STEP     ? (uint32_t)draw(state, plan->steps)
               : place == IN_COMMIT ? out->every * drawn(state, 1, plan->steps / out->every)
                                    : 1;
    return death;
}

static Death draw_working_death(const Regroups *out, uint64_t *state) {
    const int in_commit = out->every <= out->plan.steps && draw(state, 2) == 0;
    return draw_death(out, state, in_commit ? IN_COMMIT : IN_STEP);
}

/// One of the first workers, but not this one.
static uint32_t draw_other(const Regroups *out, uint64_t *state, uint32_t not_this) {
    return (not_this + drawn(state, 1, out->size - 1)) % out->size;
}

static void draw_fault(Regroups *out, uint64_t *state) {
    static const char *const functions[] = {
        "allocate",      "commit",       "allocate_pinned", "memory_kind",   "stream_query", "stream_wait",
        "event_create",  "event_record", "event_query",     "stream_create", "copy",         "fill",
        "copy_many",     "reduce",       "assign",          "squares",       "cast",         "job",
        "capture_begin", "capture_end",  "graph_launch"};
    static const char *const kinds[] = {"failed", "out_of_memory", "invalid", "fatal"};
    const char *function = functions[draw(state, sizeof functions / sizeof *functions)];
    const char *const kind = out->loss == HANG   ? "hang"
                             : out->loss == CARD ? "fatal"
                                                 : kinds[draw(state, out->loss == CALL ? 3 : 4)];
    if (out->loss == HANG) function = "job";
    const int often = strcmp(function, "job") == 0 || strstr(function, "_query") != NULL;
    const uint32_t number = drawn(state, 1, (draw(state, 2) == 0 ? 8 : 40) * (often ? 5 : 1));
    snprintf(out->fault, sizeof out->fault, "%s@%u:%s", function, (unsigned)number, kind);
    out->faulty = out->loss < CARD ? out->size : (uint32_t)draw(state, out->size);
    out->fault_at = (uint32_t)draw(state, out->plan.steps);
    out->aborts = out->loss == CALL && draw(state, 2) == 0;
    if (out->loss < CARD || out->size < 3 || draw(state, 4) != 0) return;
    const Place place = (Place)drawn(state, IN_STEP, 3);
    out->deaths[draw_other(out, state, out->faulty)] = draw_death(out, state, place);
}

static void draw_deaths(Regroups *out, uint64_t *state) {
    const uint32_t size = out->size, first = (uint32_t)draw(state, size);
    const uint32_t second = size > 1 ? draw_other(out, state, first) : NOBODY;
    if (out->loss == JOINED || out->loss == DISMISSED) {
        if (out->loss == JOINED && draw(state, 4) == 0) out->deaths[size] = draw_death(out, state, IN_A_REGROUP);
        if (size < (out->loss == JOINED ? 2 : 3) || draw(state, 3) != 0) return;
        if (out->loss == DISMISSED) out->leaver = second;
        out->deaths[first] = draw_death(out, state, IN_A_REGROUP);
        return;
    }
    out->deaths[first] = draw_working_death(out, state);
    if (out->loss == TWO) {
        out->deaths[second] = draw_working_death(out, state);
        if (draw(state, 2) == 0) out->deaths[second] = out->deaths[first];
    } else if (out->loss == IN_REGROUP) {
        out->deaths[second] = draw_death(out, state, IN_A_REGROUP);
    } else if (out->loss == ALL_BUT_ONE) {
        for (uint32_t i = 0; i < size; ++i)
            if (i != first) out->deaths[i] = draw(state, 2) == 0 ? out->deaths[first] : draw_working_death(out, state);
        out->deaths[first].place = NOWHERE;
    } else if (out->loss == REPLACED && draw(state, 3) == 0) {
        out->deaths[size] = draw_death(out, state, IN_A_REGROUP); // the newcomer
    } else if (out->loss == REPLACED && size > 2 && draw(state, 2) == 0) {
        out->deaths[second] = draw_working_death(out, state);
    }
}

static Loss draw_loss(const Plan *plan, uint32_t size, uint64_t *state) {
    for (;;) {
        const Loss loss = (Loss)draw(state, LOSSES);
        if (loss == HANG && draw(state, 2) == 0) continue; // these take seconds
        if (loss == CALL || (loss == JOINED && plan->replicas > 1)) return loss;
        if (size == 1 || (size == 2 && (loss == TWO || loss == IN_REGROUP))) continue;
        return loss;
    }
}

Regroups regroups_of(uint64_t seed) {
    uint64_t state = (seed + 1) * 0xd1342543de82ef95u;
    Regroups out = {.plan = plan_of(seed), .faulty = NOBODY, .leaver = NOBODY};
    draw_training(&out.plan, &state);
    const uint32_t most = out.plan.replicas < 4 ? out.plan.replicas : 4;
    out.most = out.size = most == 1 || draw(&state, 6) == 0 ? 1 : drawn(&state, 2, most - 1);
    out.loss = draw_loss(&out.plan, out.size, &state);
    if (out.loss == JOINED && out.size == most) --out.size;
    if (out.loss == JOINED) out.most = drawn(&state, out.size + 1, most - out.size);
    if (out.loss == ALL_BUT_ONE && draw(&state, 4) != 0) out.plan.own = 0;
    out.copies = out.size > 2 ? drawn(&state, 1, 2) : 1;
    out.every = drawn(&state, 1, 4);
    out.link = draw(&state, 2) == 0 ? "tcp" : "auto";
    draw_devices(&out, &state);
    out.commits_first = (int)draw(&state, 2);
    out.replaces = out.loss == REPLACED || out.loss == JOINED || (out.loss > JOINED && draw(&state, 3) == 0);
    out.wait_at = out.leave_at = drawn(&state, 1, out.plan.steps - 1);
    if (out.loss != JOINED) out.wait_at = drawn(&state, out.leave_at, out.plan.steps - out.leave_at + 1);
    if (out.loss == DISMISSED || out.loss == LEFT) out.leaver = (uint32_t)draw(&state, out.size);
    if (out.loss >= CARD)
        draw_fault(&out, &state);
    else if (out.loss != LEFT)
        draw_deaths(&out, &state);
    const int has_newcomer = out.loss == REPLACED || out.loss == JOINED;
    if (has_newcomer && out.deaths[out.size].place == NOWHERE && draw(&state, 4) == 0) draw_fault(&out, &state);
    return out;
}

int may_lose_state(const Regroups *plan) {
    uint32_t losses = (plan->faulty != NOBODY) + (plan->leaver != NOBODY);
    for (uint32_t i = 0; i < MOST_STARTED; ++i) losses += plan->deaths[i].place != NOWHERE;
    return plan->plan.own && losses > plan->copies;
}

int may_lose_first_commit(const Regroups *plan) {
    int may = plan->faulty != NOBODY && plan->fault_at == 0;
    for (uint32_t i = 0; i < MOST_STARTED; ++i)
        may = may || (plan->deaths[i].place == IN_STEP && plan->deaths[i].timed && plan->deaths[i].at == 0);
    return may;
}

uint32_t first_replica_of_rank(const Regroups *plan, uint32_t rank, uint32_t workers) {
    const uint32_t each = plan->plan.replicas / workers, more = plan->plan.replicas % workers;
    return rank * each + (rank < more ? rank : more);
}
