// SPDX-License-Identifier: Apache-2.0
// mdist_strategy_reduce_to with many values at once. The replicas' threads then reduce the first values while the
// others are still looked at, and results share memory. The expected numbers are counted here, and exact in float32.
#include <pthread.h>

#include "value_support.h"

enum { MOST = 1500, LARGEST = 90000, THREADS = 4 };

typedef struct Batch {
    uint32_t replicas;
    size_t count;
    size_t elements[MOST];
    mdist_value_t *values[MOST];
    mdist_value_t *results[MOST];
} Batch;

/// Element e of value i on replica r.
static float input_at(size_t i, size_t e, uint32_t r) {
    return (float)((i * 7 + e * 3 + 1) % 1000 * (r + 1));
}

/// The same on all replicas: the sum over the replicas.
static float sum_at(size_t i, size_t e, uint32_t replicas) {
    return (float)((i * 7 + e * 3 + 1) % 1000 * (replicas * (replicas + 1) / 2));
}

static mdist_value_t *input(mdist_strategy_t *strategy, size_t i, size_t elements, uint32_t replicas) {
    static float memory[MAX_REPLICAS][LARGEST];
    mdist_tensor_t tensors[MAX_REPLICAS];
    for (uint32_t r = 0; r < replicas; ++r) {
        for (size_t e = 0; e < elements; ++e) memory[r][e] = input_at(i, e, r);
        tensors[r] = shaped(memory[r], MDIST_FLOAT32, elements, NO, NO);
    }
    return per_replica(strategy, tensors);
}

/// Values of random lengths. `large`: one in a hundred is so long that all threads share it.
static Batch *make_batch(mdist_strategy_t *strategy, uint32_t replicas, size_t count, int large) {
    Batch *batch = calloc(1, sizeof *batch);
    assert_non_null(batch);
    batch->replicas = replicas;
    batch->count = count;
    for (size_t i = 0; i < count; ++i) {
        batch->elements[i] = large && below(100) == 0 ? 1 + below(LARGEST) : below(4) == 0 ? below(3000) : below(20);
        batch->values[i] = input(strategy, i, batch->elements[i], replicas);
    }
    return batch;
}

static mdist_status_t reduce_batch(mdist_strategy_t *strategy, Batch *batch, mdist_error_t **error) {
    return mdist_strategy_reduce_to(strategy, MDIST_SUM, batch->values, NULL, batch->count, batch->results, NULL,
                                    error);
}

/// How many elements of a result are wrong. May be called on any thread.
static size_t wrong(const Batch *batch, size_t i) {
    size_t count = mdist_value_kind(batch->results[i]) != MDIST_VALUE_MIRRORED;
    count += mdist_value_count(batch->results[i]) != batch->replicas;
    for (uint32_t r = 0; r < batch->replicas; ++r) {
        mdist_tensor_t tensor;
        if (mdist_value_tensor(batch->results[i], r, &tensor, NULL) != MDIST_OK) return count + 1;
        count += tensor.rank != 1 || tensor.shape[0] != batch->elements[i] || tensor.dtype != MDIST_FLOAT32;
        if (count != 0) return count;
        const float *const data = tensor.data;
        for (size_t e = 0; e < batch->elements[i]; ++e) count += data[e] != sum_at(i, e, batch->replicas);
    }
    return count;
}

static void free_batch(Batch *batch) {
    for (size_t i = 0; i < batch->count; ++i) {
        mdist_value_destroy(batch->values[i]);
        mdist_value_destroy(batch->results[i]);
    }
    free(batch);
}

static void every_result_of_a_batch_is_its_own_sum(void **state) {
    (void)state;
    seed_random(3001);
    const size_t counts[] = {0, 1, 2, 63, 700, MOST};
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            for (int large = 0; large < 2; ++large) {
                mdist_error_t *error = NULL;
                Batch *batch = make_batch(strategy, n, counts[c], large);
                OK(reduce_batch(strategy, batch, &error));
                for (size_t i = 0; i < batch->count; ++i) assert_int_equal(wrong(batch, i), 0);
                free_batch(batch);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

static void results_outlive_inputs_siblings_and_strategy(void **state) {
    (void)state;
    seed_random(3002);
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Batch *batch = make_batch(strategy, 2, MOST, 1);
    OK(reduce_batch(strategy, batch, &error));
    mdist_strategy_destroy(strategy);
    size_t order[MOST];
    for (size_t i = 0; i < MOST; ++i) {
        const size_t other = below(i + 1);
        mdist_value_destroy(batch->values[i]);
        batch->values[i] = NULL;
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t at = 0; at < MOST; ++at) {
        assert_int_equal(wrong(batch, order[at]), 0);
        mdist_value_destroy(batch->results[order[at]]);
        batch->results[order[at]] = NULL;
    }
    free_batch(batch);
}

typedef struct Destroyer {
    Batch *batch;
    size_t first;
    size_t wrong;
} Destroyer;

/// Looks at every fourth result, backwards, and destroys it.
static void *destroy_some(void *argument) {
    Destroyer *const self = argument;
    for (size_t i = self->batch->count; i-- > 0;) {
        if (i % THREADS != self->first) continue;
        self->wrong += wrong(self->batch, i);
        mdist_value_destroy(self->batch->results[i]);
        self->batch->results[i] = NULL;
    }
    return NULL;
}

static void several_threads_may_destroy_the_results_of_a_batch(void **state) {
    (void)state;
    seed_random(3003);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int round = 0; round < 3; ++round) {
        mdist_error_t *error = NULL;
        Batch *batch = make_batch(strategy, 2, MOST, 0);
        OK(reduce_batch(strategy, batch, &error));
        pthread_t threads[THREADS];
        Destroyer destroyers[THREADS];
        for (size_t t = 0; t < THREADS; ++t) {
            destroyers[t] = (Destroyer){batch, t, 0};
            assert_int_equal(pthread_create(&threads[t], NULL, destroy_some, &destroyers[t]), 0);
        }
        for (size_t t = 0; t < THREADS; ++t) {
            pthread_join(threads[t], NULL);
            assert_int_equal(destroyers[t].wrong, 0);
        }
        free_batch(batch);
    }
    mdist_strategy_destroy(strategy);
}

/// The batch must fail with these words and give nothing out. After that it must work with `good` in place of `bad`.
static void expect_no_result(mdist_strategy_t *strategy, Batch *batch, size_t at, mdist_value_t *bad,
                             mdist_status_t status, const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *const untouched = (mdist_value_t *)&status;
    mdist_value_t *const good = batch->values[at];
    batch->values[at] = bad;
    for (size_t i = 0; i < batch->count; ++i) batch->results[i] = untouched;
    const mdist_status_t got = reduce_batch(strategy, batch, &error);
    WORDS(error, words);
    assert_int_equal(got, status);
    for (size_t i = 0; i < batch->count; ++i) assert_ptr_equal(batch->results[i], untouched);
    mdist_error_free(error);
    error = NULL;
    batch->values[at] = good;
    OK(reduce_batch(strategy, batch, &error));
    for (size_t i = 0; i < batch->count; ++i) {
        assert_int_equal(wrong(batch, i), 0);
        mdist_value_destroy(batch->results[i]);
        batch->results[i] = NULL;
    }
}

static void a_bad_value_anywhere_in_a_batch_leaves_nothing_behind(void **state) {
    (void)state;
    seed_random(3004);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_strategy_t *three = make_strategy(3, NULL);
    float numbers[] = {1, 2, 3};
    const mdist_tensor_t uneven[] = {tensor_of(numbers, MDIST_FLOAT32, 3), tensor_of(numbers, MDIST_FLOAT32, 2)};
    const mdist_tensor_t two[] = {tensor_of(numbers, MDIST_FLOAT32, 2), tensor_of(numbers, MDIST_FLOAT32, 2)};
    mdist_value_t *const bad = per_replica(strategy, uneven);
    mdist_value_t *const plain_one = plain(tensor_of(numbers, MDIST_FLOAT32, 3));
    mdist_value_t *const foreign = input(three, 1, 5, 3);
    mdist_value_t *const gone = per_replica(strategy, two);
    mdist_value_destroy(gone);
    Batch *batch = make_batch(strategy, 2, 1000, 1);
    const size_t places[] = {0, 1, 500, 998, 999};
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
        expect_no_result(strategy, batch, places[p], bad, MDIST_ERR_MISMATCH, "[3]");
        expect_no_result(strategy, batch, places[p], plain_one, MDIST_ERR_INVALID_ARGUMENT, "plain");
        expect_no_result(strategy, batch, places[p], foreign, MDIST_ERR_INVALID_ARGUMENT, "3 tensors");
        expect_no_result(strategy, batch, places[p], gone, MDIST_ERR_BAD_HANDLE, "destroyed");
        expect_no_result(strategy, batch, places[p], NULL, MDIST_ERR_BAD_HANDLE, "NULL");
    }
    free_batch(batch);
    mdist_value_destroy(bad);
    mdist_value_destroy(plain_one);
    mdist_value_destroy(foreign);
    mdist_strategy_destroy(three);
    mdist_strategy_destroy(strategy);
}

/// Values of one leaf each, structures and a mirrored value, to all replicas and to one, in one call.
static void a_batch_may_mix_structures_and_destinations(void **state) {
    (void)state;
    seed_random(3005);
    enum { COUNT = 400, EACH = 512 };
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *values[COUNT], *results[COUNT];
    const char *destinations[COUNT];
    const char *const paths[] = {"a", "b.0", "b.1"};
    for (size_t i = 0; i < COUNT; ++i) {
        destinations[i] = i % 5 == 4 && !on_gpus() ? "cpu:1" : NULL;
        if (i % 3 != 0) {
            values[i] = input(strategy, i, EACH, 2);
            continue;
        }
        mdist_value_t *leaves[3];
        for (size_t leaf = 0; leaf < 3; ++leaf) leaves[leaf] = input(strategy, i + leaf, EACH, 2);
        OK(mdist_value_structure(paths, leaves, 3, &values[i], &error));
        for (size_t leaf = 0; leaf < 3; ++leaf) mdist_value_destroy(leaves[leaf]);
    }
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, values, destinations, COUNT, results, NULL, &error));
    for (size_t i = 0; i < COUNT; ++i) {
        for (size_t leaf = 0; leaf < (i % 3 != 0 ? 1u : 3u); ++leaf) {
            float sums[EACH];
            for (size_t e = 0; e < EACH; ++e) sums[e] = sum_at(i + leaf, e, 2);
            mdist_value_t *part = NULL;
            OK(mdist_value_at(results[i], i % 3 != 0 ? "" : paths[leaf], &part, &error));
            if (destinations[i] != NULL)
                expect_plain(part, tensor_of(sums, MDIST_FLOAT32, EACH));
            else
                expect_mirrored(part, 2, tensor_of(sums, MDIST_FLOAT32, EACH));
        }
        mdist_value_destroy(results[i]);
        mdist_value_destroy(values[i]);
    }
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_of_a_batch_is_its_own_sum),
        cmocka_unit_test(results_outlive_inputs_siblings_and_strategy),
        cmocka_unit_test(several_threads_may_destroy_the_results_of_a_batch),
        cmocka_unit_test(a_bad_value_anywhere_in_a_batch_leaves_nothing_behind),
        cmocka_unit_test(a_batch_may_mix_structures_and_destinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
