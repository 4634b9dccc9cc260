// SPDX-License-Identifier: Apache-2.0
// Datasets dealt out to several workers: which worker gets which rows, workers that run out of rows, and loops.
#include "input.h"

#include <unistd.h>

// ---- By data: every worker reads everything.

static void data_on_two_by_one(void) {
    mdist_strategy_t *strategy = join();
    const Expected three = {{"[0,1] | [3,4] | [6]", "[2] | [5] | [7]"}, "2 1 | 2 1 | 1 1"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(8, 3, 0), NULL), &three);
    const Expected two = {{"[0] | [2] | [4] | [6] | [8]", "[1] | [3] | [5] | [7] | []"}, "1 1 | 1 1 | 1 1 | 1 1 | 1 0"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(9, 2, 0), NULL), &two);
    const Expected eight = {{"[0,1,2,3] | [8,9,10]", "[4,5,6,7] | [11,12,13]"}, "4 4 | 3 3"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(14, 8, 0), NULL), &eight);
    mdist_strategy_destroy(strategy);
}

static void data_on_two_by_two(void) {
    mdist_strategy_t *strategy = join();
    const Expected four = {{"[0] [2] | [4] [6] | [8] []", "[1] [3] | [5] [7] | [9] []"}, "1 1 1 1 | 1 1 1 1 | 1 0 1 0"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(10, 4, 0), NULL), &four);
    const Expected eight = {{"[0,1] [4,5]", "[2,3] [6,7]"}, "2 2 2 2"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(8, 8, 0), NULL), &eight);
    const Expected last = {{"[0] [2] | [4] [6] | [8] [10] | [12] [14]", "[1] [3] | [5] [7] | [9] [11] | [13] []"},
                           "1 1 1 1 | 1 1 1 1 | 1 1 1 1 | 1 1 1 0"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(15, 4, 0), NULL), &last);
    mdist_strategy_destroy(strategy);
}

static void data_on_three_by_one(void) {
    mdist_strategy_t *strategy = join();
    const Expected five = {{"[0,1] | [5,6] | [10]", "[2,3] | [7,8] | []", "[4] | [9] | []"}, "2 2 1 | 2 2 1 | 1 0 0"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(11, 5, 0), NULL), &five);
    mdist_strategy_destroy(strategy);
}

// ---- By files: each worker reads its own.

/// Makes a dataset of files with so many lines each: "A0", "A1" and so on. Each worker has its own files.
static mdist_dataset_t *lines_in_batches(const char *folder, const char *names, const int *lines, uint64_t batch) {
    char paths[8][128];
    const char *pointers[8];
    size_t count = 0;
    for (; names[count] != '\0'; ++count) {
        snprintf(paths[count], sizeof paths[count], "%s/%c.%u", folder, names[count], rank);
        pointers[count] = paths[count];
        FILE *file = fopen(paths[count], "w");
        REQUIRE(file != NULL);
        for (int i = 0; i < lines[count]; ++i) fprintf(file, "%c%d\n", names[count], i);
        REQUIRE(fclose(file) == 0);
    }
    mdist_dataset_t *files = NULL, *rows = NULL, *batches = NULL;
    GIVES(MDIST_OK, mdist_dataset_files(pointers, count, &files, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_text_lines(files, &rows, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(rows, batch, &batches, NULL, &error));
    mdist_dataset_destroy(files);
    mdist_dataset_destroy(rows);
    return batches;
}

static char *new_folder(void) {
    static char folder[] = "/tmp/mdist-input-XXXXXX";
    REQUIRE(mkdtemp(folder) != NULL);
    return folder;
}

static void remove_folder(const char *folder, const char *names) {
    char path[128];
    for (; *names != '\0'; ++names) {
        snprintf(path, sizeof path, "%s/%c.%u", folder, *names, rank);
        remove(path);
    }
    rmdir(folder);
}

static void files_on_two_by_one(void) {
    mdist_strategy_t *strategy = join();
    const char *const folder = new_folder();
    const int lines[] = {5, 7, 4};
    mdist_dataset_t *source = lines_in_batches(folder, "ABC", lines, 4);
    const Expected by_file = {
        {"[A0,A1] | [A2,A3] | [A4,C0] | [C1,C2] | [C3]", "[B0,B1] | [B2,B3] | [B4,B5] | [B6] | []"},
        "2 2 | 2 2 | 2 2 | 2 1 | 1 0"};
    mdist_dataset_t *out = NULL;
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, source, &out, NULL, &error));
    require_dealt(strategy, out, &by_file);
    mdist_input_options_t options = {.struct_size = sizeof options, .policy = MDIST_SHARD_OFF};
    const int few[] = {3};
    mdist_dataset_t *one = lines_in_batches(folder, "D", few, 2);
    const Expected off = {{"[D0] | [D1] | [D2]", "[D0] | [D1] | [D2]"}, "1 1 | 1 1 | 1 1"};
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, one, &out, &options, &error));
    require_dealt(strategy, out, &off);
    out = NULL;
    GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_distribute_dataset(strategy, one, &out, NULL, &error));
    REQUIRE(strcmp(reason, "too_few_files") == 0 && out == NULL);
    mdist_dataset_t *none = lines_in_batches(folder, "", NULL, 2);
    for (options.policy = MDIST_SHARD_AUTO; options.policy <= MDIST_SHARD_FILE; ++options.policy) {
        GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_distribute_dataset(strategy, none, &out, &options, &error));
        REQUIRE(strcmp(reason, "too_few_files") == 0 && out == NULL);
        REQUIRE(strstr(message, "reads 0 files, which is not enough for 2 workers") != NULL);
    }
    mdist_dataset_destroy(none);
    // The workers do not have the same number of files.
    mdist_dataset_t *unlike = rank == 0 ? source : lines_in_batches(folder, "ABCD", (const int[]){5, 7, 4, 3}, 4);
    GIVES(MDIST_ERR_MISMATCH, mdist_distribute_dataset(strategy, unlike, &out, NULL, &error));
    REQUIRE(strstr(message, "of 3") != NULL && strstr(message, "of 4") != NULL);
    if (rank != 0) mdist_dataset_destroy(unlike);
    mdist_dataset_destroy(one);
    mdist_dataset_destroy(source);
    mdist_strategy_destroy(strategy);
    remove_folder(folder, "ABCD");
}

static int32_t keep_a(const mdist_tensor_t *name, size_t count, int32_t *keep, void *user_data) {
    (void)count, (void)user_data;
    *keep = memchr(name->data, 'A', (size_t)name->shape[0]) != NULL;
    return 0;
}

/// Nobody knows how many files there are before they are read.
static void uncounted_files_on_two_by_one(void) {
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *names = NULL, *kept = NULL, *rows = NULL, *batches = NULL;
    for (int some = 0; some < 2; ++some) {
        const char *const paths[] = {some ? "/A" : "/C", "/B"};
        GIVES(MDIST_OK, mdist_dataset_files(paths, 2, &names, NULL, &error));
        GIVES(MDIST_OK, mdist_dataset_filter(names, keep_a, NULL, NULL, &kept, NULL, &error));
        GIVES(MDIST_OK, mdist_dataset_text_lines(kept, &rows, NULL, &error));
        GIVES(MDIST_OK, mdist_dataset_batch(rows, 2, &batches, NULL, &error));
        mdist_dataset_t *const out = dealt_out(strategy, batches, NULL);
        const Dealt got = dealt_by(strategy, out);
        REQUIRE(got.status == MDIST_ERR_FAILED_PRECONDITION);
        REQUIRE(strstr(got.why, some ? "reads 1 file, which" : "reads 0 files, which") != NULL);
        mdist_dataset_destroy(out);
        mdist_dataset_destroy(rows);
        mdist_dataset_destroy(kept);
        mdist_dataset_destroy(names);
    }
    mdist_strategy_destroy(strategy);
}

static void files_on_two_by_two(void) {
    mdist_strategy_t *strategy = join();
    const char *const folder = new_folder();
    const int lines[] = {7, 7};
    const Expected by_file = {{"[A0,A1] [A2,A3] | [A4,A5] [A6]", "[B0,B1] [B2] | [B3,B4] [B5,B6]"},
                              "2 2 2 1 | 2 1 2 2"};
    require_dealt(strategy, dealt_out(strategy, lines_in_batches(folder, "AB", lines, 7), NULL), &by_file);
    mdist_strategy_destroy(strategy);
    remove_folder(folder, "AB");
}

// ---- No worker knows what the others have.

static int32_t make_own(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    mdist_input_context_t *const seen = user_data;
    *seen = *context;
    *out = numbers_in_batches(2 + 3 * (int64_t)context->pipeline, 1, 0);
    return *out == NULL;
}

static mdist_dataset_t *own_numbers(mdist_strategy_t *strategy) {
    mdist_input_context_t seen;
    mdist_dataset_t *distributed = NULL;
    GIVES(MDIST_OK, mdist_distribute_from_function(strategy, make_own, &seen, &distributed, NULL, &error));
    REQUIRE(seen.pipeline_count == worker_count && seen.pipeline == rank);
    REQUIRE(seen.replica_count == mdist_strategy_replica_count(strategy));
    return distributed;
}

static void dry_workers_go_on(void) {
    mdist_strategy_t *strategy = join();
    const Expected one = {{"[0] | [1] | [] | [] | []", "[0] | [1] | [2] | [3] | [4]"}, "1 1 | 1 1 | 0 1 | 0 1 | 0 1"};
    const Expected two = {{"[0] [1] | [] [] | [] []", "[0] [1] | [2] [3] | [4] []"}, "1 1 1 1 | 0 0 1 1 | 0 0 1 0"};
    const int alone = mdist_strategy_local_replica_count(strategy) == 1;
    require_dealt(strategy, own_numbers(strategy), alone ? &one : &two);
    mdist_strategy_destroy(strategy);
}

static void one_by_one_without_splitting(void) {
    mdist_strategy_t *strategy = join();
    mdist_input_options_t options = {.struct_size = sizeof options, .flags = MDIST_INPUT_NO_SPLIT};
    const Expected all = {{"[0,1] | [4,5] | [8]", "[2,3] | [6,7] | []"}, "2 2 | 2 2 | 1 0"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(9, 2, 0), &options), &all);
    options.flags |= MDIST_INPUT_WHOLE_STEPS;
    const Expected whole = {{"[0,1] | [4,5]", "[2,3] | [6,7]"}, "2 2 | 2 2"};
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(9, 2, 0), &options), &whole);
    options.flags = MDIST_INPUT_NO_SPLIT;
    options.fetch_to_device = 1;
    options.buffer_size = 3;
    require_dealt(strategy, dealt_out(strategy, numbers_in_batches(9, 2, 0), &options), &all);
    mdist_strategy_destroy(strategy);
}

/// Iterators of one dataset, and of two, are told apart, in whatever order the workers have made them.
static void iterators_take_turns(void) {
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *sets[2] = {own_numbers(strategy), own_numbers(strategy)};
    mdist_iterator_t *iterators[2];
    for (uint32_t i = 0; i < 2; ++i)
        GIVES(MDIST_OK, mdist_iterator_create(sets[(i + rank) % 2], &iterators[(i + rank) % 2], &error));
    Dealt got[2] = {{.status = MDIST_OK}, {.status = MDIST_OK}};
    for (int step = 0; step < 6; ++step)
        for (int i = 0; i < 2; ++i) dealt_step(&got[i], iterators[i], 1, 2);
    for (int i = 0; i < 2; ++i) {
        REQUIRE(got[i].status == MDIST_END);
        REQUIRE(strcmp(got[i].text, rank == 0 ? "[0] | [1] | [] | [] | []" : "[0] | [1] | [2] | [3] | [4]") == 0);
        mdist_iterator_destroy(iterators[i]);
        mdist_dataset_destroy(sets[i]);
    }
    mdist_strategy_destroy(strategy);
}

// ---- In loops.

static int32_t count_rows(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)loop;
    uint64_t *const counts = user_data;
    mdist_tensor_t tensor;
    for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i) {
        if (mdist_value_tensor(element, i, &tensor, NULL) != MDIST_OK) return 1;
        counts[1] += tensor.shape[0];
    }
    ++counts[0];
    return 0;
}

/// Worker 0 has two rows, worker 1 has five. Both loop as long as any worker has rows.
static void loops_go_on_for_dry_workers(void) {
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *distributed = own_numbers(strategy);
    const uint64_t locals = mdist_strategy_local_replica_count(strategy);
    const uint64_t all = locals == 1 ? 5 : 3;
    for (uint64_t iterations = all - 1; iterations <= all + 1; ++iterations) {
        mdist_iterator_t *iterator = NULL;
        mdist_loop_t *loop = NULL;
        uint64_t counts[2] = {0, 0};
        GIVES(MDIST_OK, mdist_iterator_create(distributed, &iterator, &error));
        GIVES(iterations > all ? MDIST_END : MDIST_OK,
              mdist_run_steps(strategy, iterator, iterations, count_rows, counts, NULL, &loop, NULL, &error));
        REQUIRE(counts[0] == (iterations > all ? all : iterations));
        REQUIRE(counts[1] == (rank == 0 ? 2 : iterations < all ? 4 : 5));
        mdist_loop_destroy(loop);
        mdist_iterator_destroy(iterator);
    }
    mdist_dataset_destroy(distributed);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario, uint32_t workers, const char *devices) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices};
    assert_int_equal(run_workers(&job), 0);
}

static void batches_are_cut_over_all_replicas(void **unused) {
    (void)unused;
    check("data_on_two_by_one", 2, "cpu*1");
    check("data_on_two_by_two", 2, "cpu*2");
    check("data_on_three_by_one", 3, "cpu*1");
}

static void a_worker_without_rows_takes_part_until_nobody_has_any(void **unused) {
    (void)unused;
    check("dry_workers_go_on", 2, "cpu*1");
    check("dry_workers_go_on", 2, "cpu*2");
    check("one_by_one_without_splitting", 2, "cpu*1");
}

static void each_worker_reads_files_of_its_own(void **unused) {
    (void)unused;
    check("files_on_two_by_one", 2, "cpu*1");
    check("files_on_two_by_two", 2, "cpu*2");
    check("uncounted_files_on_two_by_one", 2, "cpu*1");
}

static void iterators_are_told_apart(void **unused) {
    (void)unused;
    check("iterators_take_turns", 2, "cpu*1");
}

static void loops_go_on_until_nobody_has_rows(void **unused) {
    (void)unused;
    check("loops_go_on_for_dry_workers", 2, "cpu*1");
    check("loops_go_on_for_dry_workers", 2, "cpu*2");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_cut_over_all_replicas),
        cmocka_unit_test(a_worker_without_rows_takes_part_until_nobody_has_any),
        cmocka_unit_test(each_worker_reads_files_of_its_own),
        cmocka_unit_test(iterators_are_told_apart),
        cmocka_unit_test(loops_go_on_until_nobody_has_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"data_on_two_by_one", data_on_two_by_one},
        {"data_on_two_by_two", data_on_two_by_two},
        {"data_on_three_by_one", data_on_three_by_one},
        {"dry_workers_go_on", dry_workers_go_on},
        {"one_by_one_without_splitting", one_by_one_without_splitting},
        {"files_on_two_by_one", files_on_two_by_one},
        {"files_on_two_by_two", files_on_two_by_two},
        {"uncounted_files_on_two_by_one", uncounted_files_on_two_by_one},
        {"iterators_take_turns", iterators_take_turns},
        {"loops_go_on_for_dry_workers", loops_go_on_for_dry_workers},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
