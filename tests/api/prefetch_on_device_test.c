// SPDX-License-Identifier: Apache-2.0
// data.prefetch_on_device: the library makes the next element while the program uses the current one. Elements are the
// same.
#include "value_support.h"

#include <pthread.h>
#include <time.h>

enum { ROWS = 2000, BATCH = 4 };

/// Counts the rows that a map function has made.
typedef struct Made {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int rows;
    int asked; // rows of the elements that were asked for
    int ahead; // the most rows beyond those
} Made;

static int32_t count_row(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                         size_t output_count, void *user_data) {
    (void)input_count, (void)output_count;
    Made *const made = user_data;
    memcpy(outputs[0].data, inputs[0].data, sizeof(int64_t));
    pthread_mutex_lock(&made->lock);
    ++made->rows;
    if (made->rows - made->asked > made->ahead) made->ahead = made->rows - made->asked;
    pthread_cond_broadcast(&made->changed);
    pthread_mutex_unlock(&made->lock);
    return 0;
}

/// Waits up to 30 s for this number of rows. Returns how many there are.
static int rows_made(Made *made, int wanted) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 30;
    pthread_mutex_lock(&made->lock);
    while (made->rows < wanted && pthread_cond_timedwait(&made->changed, &made->lock, &limit) == 0) {
    }
    const int rows = made->rows;
    pthread_mutex_unlock(&made->lock);
    return rows;
}

static mdist_strategy_t *two_replicas(const char *prefetch) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "devices", "cpu*2", &error));
    OK(mdist_config_set(config, "data.prefetch_on_device", prefetch, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

static mdist_dataset_t *rows_counted_by(Made *made) {
    static int64_t numbers[ROWS];
    for (int i = 0; i < ROWS; ++i) numbers[i] = i;
    mdist_error_t *error = NULL;
    const mdist_tensor_t tensor = tensor_of(numbers, MDIST_INT64, ROWS), scalar = tensor_of(NULL, MDIST_INT64, 0);
    mdist_dataset_t *rows = NULL, *mapped = NULL, *batches = NULL;
    OK(mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &rows, NULL, &error));
    OK(mdist_dataset_map(rows, count_row, made, NULL, &scalar, 1, &mapped, NULL, &error));
    OK(mdist_dataset_batch(mapped, BATCH, &batches, NULL, &error));
    mdist_dataset_destroy(rows);
    mdist_dataset_destroy(mapped);
    return batches;
}

static void check(const char *prefetch, int made_after_first) {
    mdist_error_t *error = NULL;
    Made made = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    mdist_strategy_t *strategy = two_replicas(prefetch);
    mdist_dataset_t *batches = rows_counted_by(&made), *distributed = NULL;
    mdist_iterator_t *iterator = NULL;
    OK(mdist_distribute_dataset(strategy, batches, &distributed, NULL, &error));
    OK(mdist_iterator_create(distributed, &iterator, &error));
    for (int64_t batch = 0; batch < ROWS / BATCH; ++batch) {
        mdist_value_t *value = NULL;
        pthread_mutex_lock(&made.lock);
        made.asked += BATCH;
        pthread_mutex_unlock(&made.lock);
        OK(mdist_iterator_next(iterator, &value, 1, &error));
        const int there = BATCH * (int)batch + made_after_first, now = there < ROWS ? there : ROWS;
        assert_true(rows_made(&made, now) >= now);
        if (batch == 0 && made_after_first == BATCH) assert_int_equal(rows_made(&made, BATCH), BATCH);
        for (int64_t replica = 0; replica < 2; ++replica) {
            int64_t wanted[2] = {BATCH * batch + 2 * replica, BATCH * batch + 2 * replica + 1};
            expect_tensor(value, (size_t)replica, tensor_of(wanted, MDIST_INT64, 2));
        }
        mdist_value_destroy(value);
    }
    mdist_value_t *none = NULL;
    assert_int_equal(mdist_iterator_next(iterator, &none, 1, &error), MDIST_END);
    mdist_iterator_destroy(iterator);
    assert_int_equal(made.ahead, made_after_first - BATCH);
    mdist_dataset_destroy(distributed);
    mdist_dataset_destroy(batches);
    mdist_strategy_destroy(strategy);
}

static void the_next_element_is_made_meanwhile(void **state) {
    (void)state;
    check("true", 2 * BATCH);
}

static void without_it_nothing_is_made_before_it_is_asked_for(void **state) {
    (void)state;
    check("false", BATCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_element_is_made_meanwhile),
        cmocka_unit_test(without_it_nothing_is_made_before_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
