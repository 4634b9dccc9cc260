// SPDX-License-Identifier: Apache-2.0
// Losses divided by the number of examples of all replicas. Their sum is the mean over all examples, however these are
// distributed.
#include "value_support.h"

enum { MOST = 3, EXAMPLES = 7, TERMS = 2 };

static const float losses[EXAMPLES][TERMS] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}, {13, 14}};
static const float weights[EXAMPLES] = {1, 0.5f, 2, 0, 1, 4, 0.25f};

typedef struct Division {
    uint32_t ends[MOST]; // replica r has examples [ends[r - 1], ends[r])
    int weighted;        // 1: by example; 2: by element
    uint64_t known;      // global batch size that the replicas pass; 0: none
    double part[MOST];
    uint64_t counted[MOST];
    Note notes[MOST];
} Division;

static int32_t average(mdist_replica_t *replica, void *user_data) {
    Division *const self = user_data;
    const int32_t id = mdist_replica_id(replica);
    const uint32_t begin = id == 0 ? 0 : self->ends[id - 1], count = self->ends[id] - begin;
    float own[EXAMPLES][TERMS], by_example[EXAMPLES], by_element[EXAMPLES][TERMS];
    for (uint32_t i = 0; i < count; ++i) {
        by_example[i] = weights[begin + i];
        for (int k = 0; k < TERMS; ++k) {
            own[i][k] = losses[begin + i][k];
            by_element[i][k] = weights[begin + i];
        }
    }
    const mdist_tensor_t tensor = shaped(own, MDIST_FLOAT32, count, TERMS, NO);
    const mdist_tensor_t weight = self->weighted == 1 ? shaped(by_example, MDIST_FLOAT32, count, NO, NO)
                                                      : shaped(by_element, MDIST_FLOAT32, count, TERMS, NO);
    mdist_error_t *error = NULL;
    self->counted[id] = self->known;
    return note(&self->notes[id], MDIST_OK,
                mdist_average_loss(replica, &tensor, self->weighted != 0 ? &weight : NULL, &self->counted[id],
                                   &self->part[id], NULL, &error),
                &error, "mdist_average_loss");
}

static double wanted_sum(const Division *division, uint32_t end) {
    double sum = 0;
    for (uint32_t i = 0; i < end; ++i)
        for (int k = 0; k < TERMS; ++k)
            sum += (double)losses[i][k] * (division->weighted != 0 ? (double)weights[i] : 1);
    return sum;
}

static void expect_mean(mdist_strategy_t *strategy, Division division) {
    mdist_error_t *error = NULL;
    const uint32_t replicas = mdist_strategy_replica_count(strategy), end = division.ends[replicas - 1];
    const uint64_t batch = division.known != 0 ? division.known : end;
    double sum = 0;
    OK(mdist_run(strategy, average, &division, NULL, &error));
    for (uint32_t r = 0; r < replicas; ++r) {
        assert_string_equal(division.notes[r].text, "");
        assert_int_equal(division.counted[r], batch);
        sum += division.part[r];
    }
    assert_true(fabs(sum - (batch == 0 ? 0 : wanted_sum(&division, end) / (double)batch)) < 1e-12);
}

static void parts_add_up_to_the_mean_over_all_examples(void **state) {
    (void)state;
    static const Division divisions[] = {
        {.ends = {7, 7, 7}}, {.ends = {0, 7, 7}}, {.ends = {5, 7, 7}}, {.ends = {1, 2, 3}}, {.ends = {0, 0, 0}}};
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        for (size_t i = 0; i < sizeof divisions / sizeof *divisions; ++i)
            for (int weighted = 0; weighted <= 2; ++weighted)
                for (uint64_t known = 0; known <= 16; known += 16) {
                    Division division = divisions[i];
                    division.weighted = weighted;
                    division.known = known;
                    expect_mean(strategy, division);
                }
        mdist_strategy_destroy(strategy);
    }
}

// ---- One replica's terms, in every floating-point type.

typedef struct Terms {
    mdist_tensor_t tensor;
    double part[MOST];
    Note notes[MOST];
} Terms;

static int32_t scale(mdist_replica_t *replica, void *user_data) {
    Terms *const self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    return note(&self->notes[id], MDIST_OK, mdist_scale_regularization(replica, &self->tensor, &self->part[id], &error),
                &error, "scale");
}

static void terms_of_the_variables_count_once(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        for (int32_t dtype = MDIST_FLOAT32; dtype <= MDIST_BFLOAT16; ++dtype) {
            unsigned char room[3 * 8];
            for (size_t i = 0; i < 3; ++i)
                store_real(dtype, (double)i + 0.5, room + i * mdist_dtype_size((mdist_dtype_t)dtype));
            Terms terms = {.tensor = tensor_of(room, (mdist_dtype_t)dtype, 3)};
            OK(mdist_run(strategy, scale, &terms, NULL, &error));
            for (uint32_t r = 0; r < replicas; ++r) {
                assert_string_equal(terms.notes[r].text, "");
                assert_true(fabs(terms.part[r] - 4.5 / replicas) < 1e-12);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

// ---- What is refused.

typedef struct Refusal {
    mdist_tensor_t per_example, weights;
    uint64_t known;
    int weighted;
    char text[512];
} Refusal;

static int32_t ask_wrongly(mdist_replica_t *replica, void *user_data) {
    Refusal *const self = user_data;
    mdist_error_t *error = NULL;
    double loss = 0;
    mdist_average_loss(replica, &self->per_example, self->weighted ? &self->weights : NULL, &self->known, &loss, NULL,
                       &error);
    snprintf(self->text, sizeof self->text, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return 0;
}

static void what_has_no_examples_to_count_is_refused(void **state) {
    (void)state;
    float room[4] = {1, 2, 3, 4};
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    const mdist_tensor_t four = tensor_of(room, MDIST_FLOAT32, 4);
    const struct {
        Refusal refusal;
        const char *words;
    } cases[] = {
        {{.per_example = tensor_of(room, MDIST_FLOAT32, 0)}, "per_example is a scalar"},
        {{.per_example = tensor_of(room, MDIST_INT32, 4)}, "per_example is int32"},
        {{.per_example = tensor_of(NULL, MDIST_FLOAT32, 4)}, "data NULL"},
        {{.per_example = four, .weighted = 1, .weights = tensor_of(room, MDIST_FLOAT32, 3)}, "weights must be [4]"},
        {{.per_example = four, .weighted = 1, .weights = tensor_of(room, MDIST_FLOAT64, 2)}, "weights is float64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (uint64_t known = 0; known < 2; ++known) {
            mdist_error_t *error = NULL;
            Refusal refusal = cases[i].refusal;
            refusal.known = known;
            // With a known batch size the refused call is local. Otherwise the replicas exchange counts, so the run
            // fails.
            CHECK(known == 0 ? MDIST_ERR_INVALID_ARGUMENT : MDIST_OK,
                  mdist_run(strategy, ask_wrongly, &refusal, NULL, &error), error);
            if (strstr(refusal.text, cases[i].words) == NULL)
                fail_msg("no \"%s\" in: %s", cases[i].words, refusal.text);
        }
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_the_mean_over_all_examples),
        cmocka_unit_test(terms_of_the_variables_count_once),
        cmocka_unit_test(what_has_no_examples_to_count_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
