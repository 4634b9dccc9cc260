// SPDX-License-Identifier: Apache-2.0
// More ways to deal a dataset out to worker processes: from functions, by a hint, unevenly, and in every layout.
#include "input.h"

// ---- From a function that takes its own share.

enum { ENDLESS = 1 };

typedef struct Shares {
    int64_t numbers;
    uint64_t batch;
    int flags;
} Shares;

static int32_t make_share(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    const Shares *const shares = user_data;
    mdist_dataset_t *numbers = NULL, *more = NULL, *batches = NULL;
    const uint64_t count = shares->flags & ENDLESS ? MDIST_FOREVER : 1;
    GIVES(MDIST_OK, mdist_dataset_range(0, shares->numbers, 1, &numbers, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_repeat(numbers, count, &more, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(more, shares->batch, &batches, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_shard(batches, context->pipeline_count, context->pipeline, out, NULL, &error));
    mdist_dataset_destroy(numbers);
    mdist_dataset_destroy(more);
    mdist_dataset_destroy(batches);
    return 0;
}

static mdist_dataset_t *shared_out(mdist_strategy_t *strategy, Shares shares) {
    mdist_dataset_t *out = NULL;
    GIVES(MDIST_OK, mdist_distribute_from_function(strategy, make_share, &shares, &out, NULL, &error));
    return out;
}

static int64_t sum_of(const mdist_value_t *value) {
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_tensor(value, 0, &tensor, &error));
    int64_t sum = 0;
    for (uint64_t i = 0; i < tensor.shape[0]; ++i) sum += ((const int64_t *)tensor.data)[i];
    return sum;
}

static void functions_take_their_shares(void) {
    mdist_strategy_t *strategy = join();
    const Expected last = {{"[0,1,2,3] | [8,9,10,11]", "[4,5,6,7] | [12,13]"}, "4 4 | 4 2"};
    require_dealt(strategy, shared_out(strategy, (Shares){14, 4, 0}), &last);

    mdist_dataset_t *const endless = shared_out(strategy, (Shares){100, 5, ENDLESS});
    mdist_iterator_t *iterator = NULL;
    GIVES(MDIST_OK, mdist_iterator_create(endless, &iterator, &error));
    for (int64_t step = 0; step < 50; ++step) { // five times over
        mdist_value_t *element = NULL;
        GIVES(MDIST_OK, mdist_iterator_next(iterator, &element, 1, &error));
        REQUIRE(sum_of(element) == 5 * ((step * 10 + rank * 5) % 100) + 10);
        mdist_value_destroy(element);
    }
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(endless);
    mdist_strategy_destroy(strategy);
}

// ---- By a hint, and unevenly.

/// Deals `numbers`, which is destroyed, out by a hint, in batches of two.
static mdist_dataset_t *hinted(mdist_strategy_t *strategy, mdist_dataset_t *numbers) {
    const mdist_input_options_t options = {.struct_size = sizeof options, .policy = MDIST_SHARD_MARKED};
    mdist_dataset_t *shard = NULL, *batches = NULL;
    GIVES(MDIST_OK, mdist_dataset_shard(numbers, MDIST_ONE_PER_WORKER, 0, &shard, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(shard, 2, &batches, NULL, &error));
    mdist_dataset_destroy(numbers);
    mdist_dataset_destroy(shard);
    return dealt_out(strategy, batches, &options);
}

static void a_hint_is_each_workers_shard(void) {
    mdist_strategy_t *strategy = join();
    const Expected shards = {{"[0] | [2] | [4] | [6]", "[1] | [3] | [5] | [7]"}, "1 1 | 1 1 | 1 1 | 1 1"};
    mdist_dataset_t *numbers = NULL;
    GIVES(MDIST_OK, mdist_dataset_range(0, 8, 1, &numbers, NULL, &error));
    require_dealt(strategy, hinted(strategy, numbers), &shards);
    mdist_strategy_destroy(strategy);
}

static int32_t keep_below(const mdist_tensor_t *number, size_t count, int32_t *keep, void *user_data) {
    (void)count;
    *keep = *(const int64_t *)number->data < *(const int64_t *)user_data;
    return 0;
}

/// Nobody knows how many elements a filter keeps. With fewer than workers, some would train without.
static void a_hint_needs_an_element_for_each(void) {
    mdist_strategy_t *strategy = join();
    for (int64_t kept = 0; kept <= 2; ++kept) {
        mdist_dataset_t *numbers = NULL, *few = NULL;
        GIVES(MDIST_OK, mdist_dataset_range(0, 8, 1, &numbers, NULL, &error));
        GIVES(MDIST_OK, mdist_dataset_filter(numbers, keep_below, &kept, NULL, &few, NULL, &error));
        mdist_dataset_destroy(numbers);
        mdist_dataset_t *const out = hinted(strategy, few);
        const Expected none = {{"", ""}, ""}, two = {{"[0]", "[1]"}, "1 1"};
        if (kept != 1) {
            require_dealt(strategy, out, kept == 0 ? &none : &two);
            continue;
        }
        const Dealt got = dealt_by(strategy, out);
        REQUIRE(got.status == MDIST_ERR_FAILED_PRECONDITION);
        REQUIRE(strstr(got.why, "which has 1 element, over 2 workers") != NULL);
        mdist_dataset_destroy(out);
    }
    mdist_strategy_destroy(strategy);
}

static void rows_are_spread_dropped_or_weighted(void) {
    mdist_strategy_t *strategy = join();
    const double weights[] = {1, 1, 2};
    const mdist_input_options_t spread = {.struct_size = sizeof spread, .uneven = MDIST_UNEVEN_SPREAD};
    const mdist_input_options_t drop = {.struct_size = sizeof drop, .uneven = MDIST_UNEVEN_DROP};
    const mdist_input_options_t weighted = {.struct_size = sizeof weighted, .weights = weights, .weight_count = 3};
    const Expected as_there = {{"[0,1] | [4]", "[2,3] | []", "[] | []"}, "2 2 0 | 1 0 0"};
    const Expected evenly = {{"[0,1] | [4]", "[2] | []", "[3] | []"}, "2 1 1 | 1 0 0"};
    const Expected equally = {{"[0]", "[1]", "[2]"}, "1 1 1"};
    const Expected by_weight = {{"[0] | []", "[1] | []", "[2,3] | [4]"}, "1 1 2 | 0 0 1"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(5, 4, 0), NULL), &as_there);
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(5, 4, 0), &spread), &evenly);
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(5, 4, 0), &drop), &equally);
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(5, 4, 0), &weighted), &by_weight);
    mdist_strategy_destroy(strategy);
}

// ---- Two batches of two rows for each of N replicas, and one of one.

static void batches_in_any_layout(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t locals = mdist_strategy_local_replica_count(strategy), all = locals * worker_count;
    char text[1024] = "", rows[256] = "";
    for (uint32_t step = 0; step < 3; ++step) {
        for (uint32_t local = 0; local < locals; ++local) {
            const uint32_t slice = rank + local * worker_count, first = step * 2 * all + slice * (step < 2 ? 2 : 1);
            const char *const gap = local != 0 ? " " : step != 0 ? " | " : "";
            const size_t end = strlen(text);
            if (step < 2)
                snprintf(text + end, sizeof text - end, "%s[%u,%u]", gap, (unsigned)first, (unsigned)first + 1);
            else
                snprintf(text + end, sizeof text - end, "%s[%u]", gap, (unsigned)first);
        }
        for (uint32_t id = 0; id < all; ++id) {
            const size_t end = strlen(rows);
            snprintf(rows + end, sizeof rows - end, "%s%d", id != 0 ? " " : step != 0 ? " | " : "", step < 2 ? 2 : 1);
        }
    }
    Expected expected = {.rows = rows};
    expected.of_worker[rank] = text;
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(5 * all, 2 * all, 0), NULL), &expected);
    mdist_strategy_destroy(strategy);
}

// ---- The tests.

static void check(const char *scenario, uint32_t workers, const char *devices) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices};
    assert_int_equal(run_workers(&job), 0);
}

static void functions_deal_what_they_like(void **unused) {
    (void)unused;
    check("functions_take_their_shares", 2, "cpu*1");
}

static void options_say_who_gets_what(void **unused) {
    (void)unused;
    check("a_hint_is_each_workers_shard", 2, "cpu*1");
    check("a_hint_needs_an_element_for_each", 2, "cpu*1");
    check("rows_are_spread_dropped_or_weighted", 3, "cpu*1");
}

static void every_layout_sees_every_row_once(void **unused) {
    (void)unused;
    static const char *const devices[] = {"cpu*1", "cpu*2", "cpu*3"};
    for (uint32_t workers = 1; workers <= 3; ++workers)
        for (int replicas = 0; replicas < 3; ++replicas) check("batches_in_any_layout", workers, devices[replicas]);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_deal_what_they_like),
        cmocka_unit_test(options_say_who_gets_what),
        cmocka_unit_test(every_layout_sees_every_row_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"functions_take_their_shares", functions_take_their_shares},
        {"a_hint_is_each_workers_shard", a_hint_is_each_workers_shard},
        {"a_hint_needs_an_element_for_each", a_hint_needs_an_element_for_each},
        {"rows_are_spread_dropped_or_weighted", rows_are_spread_dropped_or_weighted},
        {"batches_in_any_layout", batches_in_any_layout},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
