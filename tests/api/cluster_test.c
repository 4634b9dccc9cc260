// SPDX-License-Identifier: Apache-2.0
// Clusters through the API: created, read from TF_CONFIG and from the environment, queried, merged, and set in a
// config. The expected results are TensorFlow's.
#include "mdist_test.h"

static mdist_error_t *error;

static const char two_workers[] =
    "{\"cluster\": {\"chief\": [\"h0:1\"], \"worker\": [\"h1:1\", \"h2:1\"]}, "
    "\"task\": {\"type\": \"worker\", \"index\": 1}}";

static mdist_cluster_t *created(const mdist_task_t *tasks, size_t count, mdist_task_type_t own_type,
                                uint32_t own_index) {
    mdist_cluster_t *cluster = NULL;
    OK(mdist_cluster_create(tasks, count, own_type, own_index, &cluster, &error));
    return cluster;
}

static mdist_cluster_t *empty_cluster(void) {
    return created(NULL, 0, MDIST_TASK_NONE, 0);
}

/// The cluster {chief: 1, worker: 2, ps: 1, evaluator: 1}, which TensorFlow's multi_worker_util tests use.
static const mdist_task_t five[] = {{MDIST_TASK_CHIEF, 0, "127.0.0.1:1234"},
                                    {MDIST_TASK_WORKER, 0, "127.0.0.1:8964"},
                                    {MDIST_TASK_WORKER, 1, "127.0.0.1:2333"},
                                    {MDIST_TASK_PS, 0, "127.0.0.1:1926"},
                                    {MDIST_TASK_EVALUATOR, 0, "127.0.0.1:3141"}};

static mdist_cluster_t *reference(mdist_task_type_t own_type, uint32_t own_index) {
    return created(five, 5, own_type, own_index);
}

static mdist_cluster_t *from_tf_config(const char *json) {
    mdist_cluster_t *cluster = NULL;
    OK(mdist_cluster_from_tf_config(json, strlen(json), &cluster, &error));
    return cluster;
}

static mdist_cluster_info_t described(const mdist_cluster_t *cluster) {
    mdist_cluster_info_t info = {.struct_size = sizeof info};
    OK(mdist_cluster_describe(cluster, &info, &error));
    return info;
}

static mdist_task_info_t task_of(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index) {
    mdist_task_info_t info = {.struct_size = sizeof info};
    OK(mdist_cluster_describe_task(cluster, type, index, &info, &error));
    return info;
}

static mdist_task_info_t own_task(const mdist_cluster_t *cluster) {
    return task_of(cluster, MDIST_TASK_NONE, 0);
}

static void assert_id(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index, uint32_t expected) {
    assert_int_equal(task_of(cluster, type, index).rank, expected);
}

static void assert_chief(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index, int32_t expected) {
    assert_int_equal(task_of(cluster, type, index).is_chief, expected);
}

static void assert_workers(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t expected) {
    assert_int_equal(task_of(cluster, type, 0).worker_count, expected);
}

static void assert_count(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t expected) {
    assert_int_equal(described(cluster).task_counts[type], expected);
}

static void assert_task(const mdist_cluster_t *cluster, mdist_task_type_t expected_type, uint32_t expected_index) {
    const mdist_cluster_info_t info = described(cluster);
    assert_int_equal(info.task_type, expected_type);
    assert_int_equal(info.task_index, expected_index);
}

static void assert_leader(const mdist_cluster_t *cluster, mdist_task_type_t expected_type) {
    const mdist_cluster_info_t info = described(cluster);
    assert_int_equal(info.leader_type, expected_type);
    assert_int_equal(info.leader_index, 0);
}

static void assert_address(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                           const char *expected) {
    assert_string_equal(task_of(cluster, type, index).address, expected);
}

static void queries_answer_as_tensorflow_does(void **state) {
    (void)state;
    mdist_cluster_t *cluster = reference(MDIST_TASK_NONE, 0);
    assert_id(cluster, MDIST_TASK_CHIEF, 0, 0);
    assert_id(cluster, MDIST_TASK_WORKER, 0, 1);
    assert_id(cluster, MDIST_TASK_WORKER, 1, 2);
    assert_id(cluster, MDIST_TASK_EVALUATOR, 0, 0);
    assert_chief(cluster, MDIST_TASK_CHIEF, 0, 1);
    assert_chief(cluster, MDIST_TASK_WORKER, 0, 0);
    assert_chief(cluster, MDIST_TASK_EVALUATOR, 0, 1);
    assert_workers(cluster, MDIST_TASK_CHIEF, 3);
    assert_workers(cluster, MDIST_TASK_WORKER, 3);
    assert_workers(cluster, MDIST_TASK_EVALUATOR, 1);
    assert_count(cluster, MDIST_TASK_WORKER, 2);
    assert_count(cluster, MDIST_TASK_NONE, 5);
    assert_address(cluster, MDIST_TASK_PS, 0, "127.0.0.1:1926");
    assert_id(cluster, MDIST_TASK_PS, 0, MDIST_NONE);
    assert_workers(cluster, MDIST_TASK_PS, 0);
    assert_chief(cluster, MDIST_TASK_PS, 0, 0);
    mdist_task_info_t info = {.struct_size = sizeof info};
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_describe_task(cluster, MDIST_TASK_WORKER, 2, &info, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_cluster_describe_task(cluster, (mdist_task_type_t)9, 0, &info, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_cluster_describe_task(cluster, MDIST_TASK_WORKER, 0, NULL, &error));
    assert_null(info.address);
    info.struct_size = 4;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_cluster_describe_task(cluster, MDIST_TASK_WORKER, 0, &info, &error));
    mdist_cluster_destroy(cluster);
}

static void the_own_task_is_asked_about_by_none(void **state) {
    (void)state;
    mdist_cluster_t *cluster = reference(MDIST_TASK_NONE, 0), *none = NULL;
    mdist_task_info_t info = {.struct_size = sizeof info};
    assert_task(cluster, MDIST_TASK_NONE, 0);
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_describe_task(cluster, MDIST_TASK_NONE, 0, &info, &error));
    mdist_cluster_destroy(cluster);
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_create(five, 5, MDIST_TASK_WORKER, 2, &none, &error));
    assert_null(none);
    cluster = reference(MDIST_TASK_WORKER, 1);
    assert_task(cluster, MDIST_TASK_WORKER, 1);
    assert_id(cluster, MDIST_TASK_NONE, 0, 2);
    assert_chief(cluster, MDIST_TASK_NONE, 0, 0);
    assert_workers(cluster, MDIST_TASK_NONE, 3);
    assert_leader(cluster, MDIST_TASK_CHIEF);
    assert_address(cluster, MDIST_TASK_NONE, 0, "127.0.0.1:2333");
    mdist_cluster_destroy(cluster);
    cluster = reference(MDIST_TASK_EVALUATOR, 0);
    assert_leader(cluster, MDIST_TASK_NONE);
    mdist_cluster_destroy(cluster);
}

static void without_tasks_a_process_is_on_its_own(void **state) {
    (void)state;
    mdist_cluster_t *none = from_tf_config("{}"), *empty = empty_cluster();
    const mdist_cluster_t *each[] = {none, empty};
    for (int i = 0; i < 2; ++i) {
        assert_task(each[i], MDIST_TASK_NONE, 0);
        assert_id(each[i], MDIST_TASK_NONE, 0, 0);
        assert_chief(each[i], MDIST_TASK_NONE, 0, 1);
        assert_workers(each[i], MDIST_TASK_NONE, 1);
        assert_count(each[i], MDIST_TASK_NONE, 0);
        assert_leader(each[i], MDIST_TASK_NONE);
    }
    mdist_cluster_destroy(none);
    mdist_cluster_destroy(empty);
}

static void tf_config_is_read_by_tensorflows_rules(void **state) {
    (void)state;
    mdist_cluster_t *cluster = from_tf_config(two_workers);
    assert_task(cluster, MDIST_TASK_WORKER, 1);
    assert_id(cluster, MDIST_TASK_NONE, 0, 2);
    assert_string_equal(own_task(cluster).master, "h2:1");
    mdist_cluster_destroy(cluster);

    mdist_cluster_t *out = NULL;
    const char bad[] = "{\"cluster\": {\"worker\": [\"h1:1\"]}}";
    mdist_error_t *story = NULL;
    assert_int_equal(mdist_cluster_from_tf_config(bad, strlen(bad), &out, &story), MDIST_ERR_CONFIG);
    assert_string_equal(mdist_error_reason(story), "bad_cluster");
    mdist_error_free(story);
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_from_tf_config(NULL, 0, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_cluster_from_tf_config(NULL, 1, &out, &error));
    assert_null(out);
}

static void a_sparse_list_is_read_and_ranked(void **state) {
    (void)state;
    mdist_cluster_t *cluster = from_tf_config(
        "{\"cluster\": {\"worker\": {\"0\": \"a:1\", \"5\": \"b:1\"}}, \"task\": {\"type\": \"worker\", \"index\": "
        "5}}");
    assert_task(cluster, MDIST_TASK_WORKER, 5);
    assert_count(cluster, MDIST_TASK_WORKER, 2);
    const mdist_task_info_t own = own_task(cluster);
    assert_true(own.rank == 1 && own.worker_count == 2 && own.is_chief == 0);
    assert_leader(cluster, MDIST_TASK_WORKER);
    assert_string_equal(own.master, "b:1");
    mdist_task_info_t info = {.struct_size = sizeof info};
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_describe_task(cluster, MDIST_TASK_WORKER, 1, &info, &error));
    mdist_cluster_destroy(cluster);
}

static void the_environment_is_resolved_and_explained(void **state) {
    (void)state;
    mdist_cluster_t *cluster = NULL;
    setenv("TF_CONFIG", two_workers, 1);
    OK(mdist_cluster_from_config(NULL, &cluster, &error));
    unsetenv("TF_CONFIG");
    assert_task(cluster, MDIST_TASK_WORKER, 1);
    char text[2000];
    size_t needed = 0;
    OK(mdist_cluster_explain(cluster, text, sizeof text, &needed, &error));
    assert_in_range(needed, 100, sizeof text);
    const char expected[] = "worker 2 (h2:1), rank 2 of 3, by tf_config (TF_CONFIG)\nworkers meet at h0:1\n";
    assert_memory_equal(text, expected, strlen(expected));
    assert_non_null(strstr(text, "\npassed over torch: RANK and WORLD_SIZE are not set\n"));
    mdist_cluster_destroy(cluster);

    // A config that the program makes does not read the environment.
    setenv("TF_CONFIG", two_workers, 1);
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_cluster_from_config(config, &cluster, &error));
    unsetenv("TF_CONFIG");
    assert_count(cluster, MDIST_TASK_NONE, 0);
    mdist_cluster_destroy(cluster);
    mdist_config_destroy(config);
}

static void launchers_that_know_ranks_only_make_workers_without_addresses(void **state) {
    (void)state;
    static const char *const variables[][2] = {{"MDIST_RANK", "1"}, {"MDIST_SIZE", "3"}, {"MDIST_STORE", "h0:4400"}};
    for (int i = 0; i < 3; ++i) setenv(variables[i][0], variables[i][1], 1);
    mdist_cluster_t *cluster = NULL;
    const mdist_status_t status = mdist_cluster_from_config(NULL, &cluster, NULL);
    for (int i = 0; i < 3; ++i) unsetenv(variables[i][0]);
    assert_int_equal(status, MDIST_OK);
    assert_count(cluster, MDIST_TASK_WORKER, 3);
    assert_task(cluster, MDIST_TASK_WORKER, 1);
    assert_chief(cluster, MDIST_TASK_WORKER, 0, 1);
    assert_address(cluster, MDIST_TASK_WORKER, 2, "");
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    FAILS(MDIST_ERR_CONFIG, mdist_config_set_cluster(config, cluster, &error));
    mdist_config_destroy(config);
    mdist_cluster_destroy(cluster);
}

static void assert_key(const mdist_config_t *config, const char *key, const char *expected) {
    char text[64];
    OK(mdist_config_get(config, key, text, sizeof text, NULL, &error));
    assert_string_equal(text, expected);
}

static void a_config_takes_a_cluster(void **state) {
    (void)state;
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "cluster.ps", "p:1", &error));
    mdist_cluster_t *cluster = from_tf_config(two_workers), *again = NULL;
    OK(mdist_config_set_cluster(config, cluster, &error));
    assert_key(config, "cluster.chief", "h0:1");
    assert_key(config, "cluster.worker", "h1:1,h2:1");
    assert_key(config, "cluster.ps", "");
    assert_key(config, "task.type", "worker");
    assert_key(config, "task.index", "1");
    OK(mdist_cluster_from_config(config, &again, &error));
    assert_task(again, MDIST_TASK_WORKER, 1);
    assert_count(again, MDIST_TASK_NONE, 3);
    mdist_cluster_destroy(again);

    // A config cannot hold lists with gaps, or a task without a cluster. The failed call leaves the config unchanged.
    mdist_cluster_t *sparse = from_tf_config(
        "{\"cluster\": {\"worker\": {\"0\": \"a:1\", \"2\": \"b:1\"}}, \"task\": {\"type\": \"worker\", \"index\": "
        "0}}");
    FAILS(MDIST_ERR_CONFIG, mdist_config_set_cluster(config, sparse, &error));
    mdist_cluster_t *bare =
        from_tf_config("{\"cluster\": {\"worker\": []}, \"task\": {\"type\": \"evaluator\", \"index\": 0}}");
    FAILS(MDIST_ERR_CONFIG, mdist_config_set_cluster(config, bare, &error));
    mdist_cluster_destroy(bare);
    assert_key(config, "cluster.worker", "h1:1,h2:1");
    mdist_cluster_t *none = empty_cluster();
    OK(mdist_config_set_cluster(config, none, &error));
    assert_key(config, "cluster.worker", "");
    assert_key(config, "task.type", "");
    mdist_cluster_destroy(none);
    mdist_cluster_destroy(sparse);
    mdist_cluster_destroy(cluster);
    mdist_config_destroy(config);
}

static void a_union_puts_lists_one_after_another(void **state) {
    (void)state;
    const mdist_task_t two[] = {{MDIST_TASK_WORKER, 0, "x:1"}, {MDIST_TASK_PS, 0, "p:1"}};
    mdist_cluster_t *first = from_tf_config(two_workers), *second = created(two, 2, MDIST_TASK_NONE, 0), *all = NULL;
    const mdist_cluster_t *both[] = {first, second};
    OK(mdist_cluster_union(both, 2, &all, &error));
    assert_count(all, MDIST_TASK_WORKER, 3);
    assert_address(all, MDIST_TASK_WORKER, 2, "x:1");
    assert_task(all, MDIST_TASK_WORKER, 1);
    mdist_cluster_destroy(all);
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_union(NULL, 0, &all, &error));
    both[1] = NULL;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_cluster_union(both, 2, &all, &error));
    mdist_cluster_destroy(first);
    mdist_cluster_destroy(second);
}

/// Sets the variables of a Slurm step over hosts with 2, 3 and 1 tasks, from TensorFlow's SlurmClusterResolver tests.
static void set_slurm(const char *rank) {
    setenv("SLURM_PROCID", rank, 1);
    setenv("SLURM_STEP_NUM_TASKS", "6", 1);
    setenv("SLURM_STEP_NODELIST", "t02n[13,041],m5", 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", "2,3,1", 1);
}

static void unset_slurm(void) {
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_STEP_NUM_TASKS");
    unsetenv("SLURM_STEP_NODELIST");
    unsetenv("SLURM_STEP_TASKS_PER_NODE");
}

static void a_slurm_step_is_dealt_out_in_order_of_names(void **state) {
    (void)state;
    mdist_cluster_t *cluster = NULL;
    const mdist_task_type_t types[] = {MDIST_TASK_WORKER, MDIST_TASK_PS};
    const uint32_t counts[] = {4, 1}, many[] = {6, 1};
    set_slurm("2");
    OK(mdist_cluster_from_slurm(types, counts, 2, 0, &cluster, &error));
    assert_address(cluster, MDIST_TASK_PS, 0, "t02n13:8888");
    assert_address(cluster, MDIST_TASK_WORKER, 0, "t02n13:8889");
    assert_address(cluster, MDIST_TASK_WORKER, 1, "t02n041:8888");
    assert_address(cluster, MDIST_TASK_WORKER, 3, "t02n041:8890");
    assert_task(cluster, MDIST_TASK_WORKER, 1);
    mdist_cluster_destroy(cluster);

    set_slurm("5"); // one task more than the counts ask for
    OK(mdist_cluster_from_slurm(types, counts, 2, 0, &cluster, &error));
    assert_task(cluster, MDIST_TASK_NONE, 0);
    mdist_cluster_destroy(cluster);
    OK(mdist_cluster_from_slurm(NULL, NULL, 0, 1000, &cluster, &error));
    assert_count(cluster, MDIST_TASK_WORKER, 6);
    assert_address(cluster, MDIST_TASK_NONE, 0, "m5:1000");
    mdist_cluster_destroy(cluster);

    FAILS(MDIST_ERR_CONFIG, mdist_cluster_from_slurm(types, many, 2, 0, &cluster, &error));
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_from_slurm(NULL, NULL, 0, 65535, &cluster, &error));
    setenv("SLURM_DISTRIBUTION", "arbitrary", 1); // the user has dealt out the ranks
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_from_slurm(NULL, NULL, 0, 0, &cluster, &error));
    unsetenv("SLURM_DISTRIBUTION");
    unset_slurm();
    FAILS(MDIST_ERR_CONFIG, mdist_cluster_from_slurm(NULL, NULL, 0, 0, &cluster, &error));
}

static void heterogeneous_components_follow_each_other(void **state) {
    (void)state;
    mdist_cluster_t *cluster = NULL;
    set_slurm("2");
    setenv("SLURM_HET_SIZE", "2", 1);
    setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "m5", 1);
    setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "t02n[13,041]", 1);
    OK(mdist_cluster_from_slurm(NULL, NULL, 0, 0, &cluster, &error));
    assert_address(cluster, MDIST_TASK_WORKER, 0, "m5:8888");
    assert_address(cluster, MDIST_TASK_WORKER, 2, "t02n13:8889");
    mdist_cluster_destroy(cluster);
    unsetenv("SLURM_HET_SIZE");
    unsetenv("SLURM_JOB_NODELIST_HET_GROUP_0");
    unsetenv("SLURM_JOB_NODELIST_HET_GROUP_1");
    unset_slurm();
}

static void a_cluster_that_is_none_is_refused(void **state) {
    (void)state;
    mdist_cluster_t *gone = empty_cluster();
    mdist_cluster_destroy(gone);
    mdist_cluster_info_t info = {.struct_size = sizeof info};
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_cluster_describe(gone, &info, &error));
    assert_int_equal(info.task_counts[0], 0);
    mdist_cluster_destroy(gone);
}

/// Checks that a cluster of one worker and this task is refused.
static void expect_refused(mdist_task_t task, mdist_task_type_t own_type, uint32_t own_index, mdist_status_t status,
                           const char *words) {
    const mdist_task_t tasks[] = {{MDIST_TASK_WORKER, 0, "a:1"}, task};
    mdist_cluster_t *cluster = NULL;
    mdist_error_t *why = NULL;
    assert_int_equal(mdist_cluster_create(tasks, 2, own_type, own_index, &cluster, &why), status);
    WORDS(why, words);
    mdist_error_free(why);
    assert_null(cluster);
}

static void tasks_that_cannot_be_are_refused(void **state) {
    (void)state;
    const mdist_status_t bad = MDIST_ERR_INVALID_ARGUMENT;
    const mdist_task_t good = {MDIST_TASK_WORKER, 1, ""};
    expect_refused((mdist_task_t){MDIST_TASK_NONE, 0, "b:1"}, MDIST_TASK_NONE, 0, bad, "tasks[1].task_type is 0");
    expect_refused((mdist_task_t){9, 0, "b:1"}, MDIST_TASK_NONE, 0, bad, "tasks[1].task_type is 9");
    expect_refused((mdist_task_t){MDIST_TASK_PS, 0, NULL}, MDIST_TASK_NONE, 0, bad, "tasks[1].address is NULL");
    expect_refused((mdist_task_t){MDIST_TASK_PS, 0, "b"}, MDIST_TASK_NONE, 0, MDIST_ERR_CONFIG, "\"b\"");
    expect_refused((mdist_task_t){MDIST_TASK_WORKER, 0, "b:1"}, MDIST_TASK_NONE, 0, MDIST_ERR_CONFIG, "worker 0");
    expect_refused(good, MDIST_TASK_NONE, 3, bad, "own_index is 3 and own_type is MDIST_TASK_NONE");
    expect_refused(good, (mdist_task_type_t)9, 0, bad, "own_type is 9");
    expect_refused(good, MDIST_TASK_PS, 0, MDIST_ERR_CONFIG, "ps 0");
    mdist_cluster_t *cluster = NULL;
    FAILS(bad, mdist_cluster_create(NULL, 1, MDIST_TASK_NONE, 0, &cluster, &error));
    FAILS(bad, mdist_cluster_create(&good, 1, MDIST_TASK_NONE, 0, NULL, &error));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_answer_as_tensorflow_does),
        cmocka_unit_test(the_own_task_is_asked_about_by_none),
        cmocka_unit_test(without_tasks_a_process_is_on_its_own),
        cmocka_unit_test(tf_config_is_read_by_tensorflows_rules),
        cmocka_unit_test(a_sparse_list_is_read_and_ranked),
        cmocka_unit_test(the_environment_is_resolved_and_explained),
        cmocka_unit_test(launchers_that_know_ranks_only_make_workers_without_addresses),
        cmocka_unit_test(a_config_takes_a_cluster),
        cmocka_unit_test(a_union_puts_lists_one_after_another),
        cmocka_unit_test(a_slurm_step_is_dealt_out_in_order_of_names),
        cmocka_unit_test(heterogeneous_components_follow_each_other),
        cmocka_unit_test(a_cluster_that_is_none_is_refused),
        cmocka_unit_test(tasks_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
