// SPDX-License-Identifier: Apache-2.0
// All-to-all of parts of any lengths: random calls against bytes that each replica can compute, and what is refused.
#include "parts_support.h"

static int trials_of(int few) {
    return is_long() ? 20 * few : few;
}

static void every_part_arrives_where_it_is_taken(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= PART_REPLICAS; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        mdist_group_t *group = last_first(strategy);
        assert_non_null(group);
        for (int i = 0; i < trials_of(6); ++i) {
            Parts self = {.seed = test_seed(0) + n * 100 + (uint64_t)i, .longest = i % 2 == 0 ? 300 : 6000};
            self.group = i % 3 == 1 ? group : NULL;
            const mdist_status_t status = mdist_run(strategy, parts_step, &self, NULL, &error);
            for (uint32_t r = 0; r < n; ++r) assert_string_equal(self.notes[r].text, "");
            OK(status);
        }
        mdist_group_destroy(group);
        mdist_strategy_destroy(strategy);
    }
}

static void parts_that_do_not_fit_are_a_mismatch_on_all(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 2; n <= 5; n += 3) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        Parts self = {0};
        FAILS(MDIST_ERR_MISMATCH, mdist_run(strategy, parts_mismatch_step, &self, NULL, &error));
        for (uint32_t r = 0; r < n; ++r) assert_string_equal(self.notes[r].text, "");
        Parts next = {.seed = 1, .longest = 100};
        OK(mdist_run(strategy, parts_step, &next, NULL, &error)); // nothing is left of it
        mdist_strategy_destroy(strategy);
    }
}

// ---- Calls that are wrong by themselves. One replica, so that nobody waits.

typedef struct Wrong {
    const mdist_buffer_t *inputs, *outputs;
    const uint64_t *given, *taken;
    const char *words;
    Note note;
} Wrong;

static int32_t wrong_step(mdist_replica_t *replica, void *user_data) {
    Wrong *const self = user_data;
    mdist_error_t *error = NULL;
    const mdist_status_t status =
        mdist_all_to_all_parts(replica, self->inputs, self->given, self->outputs, self->taken, 1, NULL, &error);
    if (status != MDIST_ERR_INVALID_ARGUMENT || strstr(mdist_error_message(error), self->words) == NULL)
        snprintf(self->note.text, sizeof self->note.text, "%s: %s", mdist_status_name(status),
                 mdist_error_message(error));
    mdist_error_free(error);
    return 1;
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    float memory[8] = {0};
    static const uint64_t three = 3, four = 4;
    const mdist_buffer_t in = buffer_of(memory, MDIST_FLOAT32, 3), out = buffer_of(memory + 3, MDIST_FLOAT32, 3),
                         over = buffer_of(memory + 2, MDIST_FLOAT32, 3), whole = buffer_of(memory + 3, MDIST_INT32, 3);
    const Wrong wrong[] = {
        {&in, &out, NULL, &three, "input_parts is NULL", {""}},
        {&in, &out, &three, NULL, "output_parts is NULL", {""}},
        {NULL, &out, &three, &three, "inputs is NULL", {""}},
        {&in, &out, &four, &three, "input 0 has 3 elements, but its parts for 1 replicas together have 4", {""}},
        {&in, &out, &three, &four, "output 0 has 3 elements, but its parts for 1 replicas together have 4", {""}},
        {&in, &whole, &three, &three, "input 0 is float32 but output 0 int32", {""}},
        {&in, &over, &three, &three, "mdist_all_to_all_parts does not work in place", {""}},
        {&in, &in, &three, &three, "mdist_all_to_all_parts does not work in place", {""}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        Wrong self = wrong[i];
        assert_int_equal(mdist_run(strategy, wrong_step, &self, NULL, NULL), MDIST_ERR_INVALID_ARGUMENT);
        assert_string_equal(self.note.text, "");
    }
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_arrives_where_it_is_taken),
        cmocka_unit_test(parts_that_do_not_fit_are_a_mismatch_on_all),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
