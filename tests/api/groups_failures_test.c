// SPDX-License-Identifier: Apache-2.0
// What goes wrong with groups: bad lists, calls of others than the members, calls that differ, members that come late
// or leave, destroyed groups, and functions that take no group.
#include "mdist_test.h"
#include "started.h"
#include "step_support.h"

#include <stddef.h>

static mdist_group_t *make_group(mdist_strategy_t *strategy, const uint32_t *list, size_t count) {
    mdist_error_t *error = NULL;
    mdist_group_t *group = NULL;
    OK(mdist_group_create(strategy, list, count, &group, &error));
    return group;
}

static mdist_call_options_t in(const mdist_group_t *group) {
    return (mdist_call_options_t){.struct_size = sizeof(mdist_call_options_t), .group = group};
}

/// EXPECT(status, words, call) checks the status and the words of the error's message.
#define EXPECT(wanted, words, call)                                     \
    do {                                                                \
        error = NULL;                                                   \
        const mdist_status_t got = (call);                              \
        expect_status((wanted), got, error, #call, __FILE__, __LINE__); \
        WORDS(error, words);                                            \
        mdist_error_free(error);                                        \
        error = NULL;                                                   \
    } while (0)

static void lists_are_checked(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_group_t *group = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    const uint32_t twice[] = {2, 0, 2}, outside[] = {0, 3}, good[] = {2, 0};
    const mdist_status_t bad = MDIST_ERR_INVALID_ARGUMENT;
    EXPECT(bad, "names replica 2 twice", mdist_group_create(strategy, twice, 3, &group, &error));
    EXPECT(bad, "is 3; the replicas are 0 to 2", mdist_group_create(strategy, outside, 2, &group, &error));
    EXPECT(bad, "count is 0", mdist_group_create(strategy, good, 0, &group, &error));
    EXPECT(bad, "replicas", mdist_group_create(strategy, NULL, 2, &group, &error));
    EXPECT(bad, "out", mdist_group_create(strategy, good, 2, NULL, &error));
    assert_null(group);
    group = make_group(strategy, good, 2);
    assert_int_equal(mdist_group_size(group), 2);
    assert_int_equal(mdist_group_position(group, 2), 0);
    assert_int_equal(mdist_group_position(group, 0), 1);
    assert_int_equal(mdist_group_position(group, 1), MDIST_NONE);
    mdist_group_destroy(group);
    assert_int_equal(mdist_group_size(group), 0);
    assert_int_equal(mdist_group_position(group, 2), MDIST_NONE);
    mdist_group_destroy(group);
    mdist_group_destroy(NULL);
    mdist_strategy_destroy(strategy);
}

// ---- Steps that fail in one way each.

typedef enum Mistake {
    NOT_A_MEMBER,
    BAD_ROOT,
    DIFFERENT,
    DIFFERENT_LENGTHS,
    ONE_LEAVES,
    NOBODY_COMES,
    OTHER_STRATEGY,
    DESTROYED,
    LEFT_OPEN,
    MISTAKES
} Mistake;

typedef struct Try {
    Mistake mistake;
    mdist_group_t *group;
    mdist_status_t status[3];
} Try;

static float spaces[3][8];

static mdist_status_t try_it(Try *t, mdist_replica_t *replica, uint32_t id) {
    const mdist_call_options_t options = in(t->group);
    float *const x = spaces[id];
    const mdist_buffer_t one = buffer_of(x, MDIST_FLOAT32, 1), two = buffer_of(x, MDIST_FLOAT32, 2);
    const mdist_buffer_t joined = buffer_of(x + 2, MDIST_FLOAT32, 3), short_one = buffer_of(x + 6, MDIST_FLOAT32, 1);
    mdist_work_t *work = NULL;
    switch (t->mistake) {
        case NOT_A_MEMBER: // all three call
        case OTHER_STRATEGY:
        case DESTROYED:
            return mdist_all_reduce(replica, MDIST_SUM, &one, &one, 1, &options, NULL);
        case BAD_ROOT:
            return id == 1 ? MDIST_OK : mdist_broadcast(replica, 1, &one, 1, &options, NULL);
        case DIFFERENT:
            if (id == 1) return mdist_barrier(replica, NULL, NULL);
            return mdist_broadcast(replica, id, &one, 1, &options, NULL);
        case DIFFERENT_LENGTHS:
            if (id == 1) return mdist_barrier(replica, NULL, NULL);
            return mdist_all_gather(replica, id == 0 ? &one : &two, id == 0 ? &joined : &short_one, 1, &options, NULL);
        case ONE_LEAVES:
            return id == 0 ? mdist_all_reduce(replica, MDIST_SUM, &one, &one, 1, &options, NULL) : MDIST_OK;
        case NOBODY_COMES: // replica 2 waits in another group than replica 0
            return id == 0   ? mdist_all_reduce(replica, MDIST_SUM, &one, &one, 1, &options, NULL)
                   : id == 1 ? MDIST_OK
                             : mdist_barrier(replica, NULL, NULL);
        default:
            return id == 1 ? MDIST_OK : start_all_reduce(replica, MDIST_SUM, &one, &one, 1, &work, &options, NULL);
    }
}

static int32_t try_step(mdist_replica_t *replica, void *user_data) {
    Try *t = user_data;
    const uint32_t id = mdist_replica_id(replica);
    t->status[id] = try_it(t, replica, id);
    return 0;
}

static void mistakes_are_told_in_words(void **state) {
    (void)state;
    static const struct {
        mdist_status_t status;
        const char *words[3];
    } wanted[MISTAKES] = {
        [NOT_A_MEMBER] = {MDIST_ERR_INVALID_ARGUMENT, {"replica 1 is not a member of group {2, 0}"}},
        [BAD_ROOT] = {MDIST_ERR_INVALID_ARGUMENT, {"root is replica 1, which is not a member of group {2, 0}"}},
        [DIFFERENT] = {MDIST_ERR_MISMATCH, {"disagree in operation 1 of the step in group {2, 0}", "root 0", "root 2"}},
        [DIFFERENT_LENGTHS] = {MDIST_ERR_MISMATCH, {"group {2, 0}: ", "output 0 of replica 2 has 1 elements"}},
        [ONE_LEAVES] = {MDIST_ERR_MISMATCH, {"different numbers of calls in group {2, 0}: replica 2 returned"}},
        [NOBODY_COMES] = {MDIST_ERR_MISMATCH, {"replica 1 returned from its step"}},
        [OTHER_STRATEGY] = {MDIST_ERR_INVALID_ARGUMENT, {"group {2, 0}, which belongs to another strategy"}},
        [DESTROYED] = {MDIST_ERR_BAD_HANDLE, {"a group that was destroyed"}},
        [LEFT_OPEN] = {MDIST_ERR_FAILED_PRECONDITION,
                       {"ended while the mdist_all_reduce that it had started was under way"}},
    };
    const uint32_t list[] = {2, 0};
    mdist_error_t *error = NULL;
    quiet_log();
    mdist_strategy_t *strategy = make_strategy(3, NULL), *other = make_strategy(3, NULL);
    for (Mistake m = NOT_A_MEMBER; m < MISTAKES; ++m) {
        Try t = {.mistake = m, .group = make_group(m == OTHER_STRATEGY ? other : strategy, list, 2)};
        mdist_group_t *const group = t.group;
        if (m == DESTROYED) mdist_group_destroy(group);
        const mdist_status_t status = mdist_run(strategy, try_step, &t, NULL, &error);
        if (status != wanted[m].status) print_error("mistake %d\n", (int)m);
        expect_status(wanted[m].status, status, error, "mdist_run", __FILE__, __LINE__);
        for (int w = 0; w < 3 && wanted[m].words[w] != NULL; ++w) WORDS(error, wanted[m].words[w]);
        mdist_error_free(error);
        error = NULL;
        if (m != DESTROYED) mdist_group_destroy(group);
    }
    mdist_strategy_destroy(other);
    mdist_strategy_destroy(strategy);
}

static int32_t good_step(mdist_replica_t *replica, void *user_data) {
    const mdist_call_options_t options = in(user_data);
    float x = 1;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    if (mdist_group_position(user_data, mdist_replica_id(replica)) == MDIST_NONE) return 0;
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL) != MDIST_OK) return 1;
    return x == (float)mdist_group_size(user_data) ? 0 : 2;
}

static void a_group_works_after_a_failed_step(void **state) {
    (void)state;
    const uint32_t list[] = {2, 0};
    mdist_error_t *error = NULL;
    quiet_log();
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    mdist_group_t *group = make_group(strategy, list, 2);
    for (int i = 0; i < 50; ++i) {
        Try t = {.mistake = i % 2 == 0 ? DIFFERENT : ONE_LEAVES, .group = group};
        FAILS(MDIST_ERR_MISMATCH, mdist_run(strategy, try_step, &t, NULL, &error));
        if (t.mistake == DIFFERENT) assert_int_not_equal(t.status[1], MDIST_OK); // it waited in the job's barrier
        OK(mdist_run(strategy, good_step, group, NULL, &error));
    }
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

typedef struct Late {
    mdist_group_t *group;
    pthread_barrier_t over;
    mdist_status_t status;
    char message[512];
} Late;

/// Replica 2 comes only when replica 0 has given up.
static int32_t late_step(mdist_replica_t *replica, void *user_data) {
    Late *late = user_data;
    float x = 1;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    mdist_call_options_t options = in(late->group);
    mdist_error_t *error = NULL;
    options.timeout_ns = 50 * 1000 * 1000;
    if (mdist_replica_id(replica) == 0) {
        late->status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, &error);
        snprintf(late->message, sizeof late->message, "%s", mdist_error_message(error));
        mdist_error_free(error);
    }
    pthread_barrier_wait(&late->over);
    return 0;
}

static void a_member_that_does_not_come_is_named(void **state) {
    (void)state;
    const uint32_t list[] = {2, 0};
    mdist_error_t *error = NULL;
    quiet_log();
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    Late late = {.group = make_group(strategy, list, 2)};
    assert_int_equal(pthread_barrier_init(&late.over, NULL, 3), 0);
    FAILS(MDIST_ERR_TIMEOUT, mdist_run(strategy, late_step, &late, NULL, &error));
    assert_int_equal(late.status, MDIST_ERR_TIMEOUT);
    if (strstr(late.message, "of its step in group {2, 0}, for replica 2") == NULL) fail_msg("%s", late.message);
    FAILS(MDIST_ERR_ABORTED, mdist_run(strategy, good_step, late.group, NULL, &error));
    mdist_group_t *none = NULL;
    FAILS(MDIST_ERR_ABORTED, mdist_group_create(strategy, list, 2, &none, &error));
    pthread_barrier_destroy(&late.over);
    mdist_group_destroy(late.group);
    mdist_strategy_destroy(strategy);
}

// ---- Destroyed in use, and outliving the strategy.

static void a_group_may_go_while_its_operations_go_on(void **state) {
    (void)state;
    const uint32_t list[] = {1, 0};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_group_t *group = make_group(strategy, list, 2);
    const mdist_call_options_t options = in(group);
    mdist_replica_t *replicas[2];
    mdist_work_t *works[2];
    float x[2] = {1, 2};
    OK(mdist_run_begin(strategy, NULL, &error));
    for (uint32_t r = 0; r < 2; ++r) {
        const mdist_buffer_t buffer = buffer_of(&x[r], MDIST_FLOAT32, 1);
        OK(mdist_replica_enter(strategy, r, &replicas[r], &error));
        OK(start_all_reduce(replicas[r], MDIST_SUM, &buffer, &buffer, 1, &works[r], &options, &error));
    }
    mdist_group_destroy(group);
    for (uint32_t r = 0; r < 2; ++r) {
        int32_t done = 0;
        OK(mdist_work_wait(works[r], MDIST_FOREVER, &done, &error));
        assert_true(done && x[r] == 3);
        mdist_work_destroy(works[r]);
        OK(mdist_replica_exit(replicas[r], 0, &error));
    }
    OK(mdist_run_end(strategy, NULL, 0, &error));
    group = make_group(strategy, list, 2);
    mdist_strategy_destroy(strategy);
    assert_int_equal(mdist_group_size(group), 2);
    mdist_group_destroy(group);
}

// ---- A merge, in which nested runs begin.

static int32_t nested_step(mdist_replica_t *replica, void *user_data) {
    return good_step(replica, user_data);
}

static int32_t run_nested(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                          mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return mdist_run(strategy, nested_step, user_data, NULL, NULL) != MDIST_OK;
}

static int32_t merging_step(mdist_replica_t *replica, void *user_data) {
    const uint32_t id = mdist_replica_id(replica);
    const mdist_call_options_t options = in(user_data);
    float x = 1;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (id != 1 && start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, &options, NULL) != MDIST_OK)
        return 1;
    if (mdist_merge_call(replica, run_nested, user_data, NULL, 0, NULL, 0, NULL, NULL) != MDIST_OK) return 2;
    if (id == 1) return 0;
    if (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || !done || x != 2) return 3;
    mdist_work_destroy(work);
    return good_step(replica, user_data);
}

static void merges_wait_for_started_operations_of_groups(void **state) {
    (void)state;
    const uint32_t list[] = {2, 0};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    mdist_group_t *group = make_group(strategy, list, 2);
    for (int i = 0; i < 20; ++i) OK(mdist_run(strategy, merging_step, group, NULL, &error));
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

// ---- Options.

static int32_t old_options_step(mdist_replica_t *replica, void *user_data) {
    const mdist_call_options_t options = {.struct_size = offsetof(mdist_call_options_t, group),
                                          .group = user_data}; // beyond what the program was compiled with
    float x = 1;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL) != MDIST_OK) return 1;
    return x == 2 ? 0 : 2;
}

static void only_collectives_of_a_step_take_a_group(void **state) {
    (void)state;
    const uint32_t list[] = {1, 0};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_group_t *group = make_group(strategy, list, 2);
    mdist_call_options_t options = in(group);
    float x[2] = {1, 2};
    const mdist_buffer_t buffers[] = {buffer_of(&x[0], MDIST_FLOAT32, 1), buffer_of(&x[1], MDIST_FLOAT32, 1)};
    EXPECT(MDIST_ERR_UNSUPPORTED, "options.group is set, but this function is for all replicas",
           mdist_strategy_all_reduce(strategy, MDIST_SUM, buffers, buffers, 1, &options, &error));
    OK(mdist_run(strategy, old_options_step, (void *)(uintptr_t)77, NULL, &error));
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_checked),
        cmocka_unit_test(mistakes_are_told_in_words),
        cmocka_unit_test(a_group_works_after_a_failed_step),
        cmocka_unit_test(a_member_that_does_not_come_is_named),
        cmocka_unit_test(a_group_may_go_while_its_operations_go_on),
        cmocka_unit_test(merges_wait_for_started_operations_of_groups),
        cmocka_unit_test(only_collectives_of_a_step_take_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
