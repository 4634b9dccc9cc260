// SPDX-License-Identifier: Apache-2.0
// From a config and an environment to who this worker is: which source counts, when two contradict each other, and what
// is refused.
#include "cluster/resolve.h"

#include "cluster_support.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

using Kind = Resolved::Kind;
using Variables = FakeEnvironment::Variables;

const char *const kTwoWorkers = "cluster: {worker: ['10.0.0.1:4400', '10.0.0.2:4400']}\n";
const char *const kTfConfig =
    R"({"cluster":{"chief":["h0:1"],"worker":["h1:1","h2:1"]},"task":{"type":"worker","index":1}})";

Resolved from_environment(Variables variables, const std::string &yaml = "") {
    return resolve(environment_config(yaml), FakeEnvironment(std::move(variables)));
}

Outcome refused(Variables variables, const std::string &yaml = "") {
    return outcome_of([&] { from_environment(std::move(variables), yaml); });
}

void assert_refused(const Outcome &outcome, const char *reason, const std::string &words) {
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_text(outcome.reason, reason);
    assert_says(outcome, words);
}

bool passed_over(const Resolved &resolved, const std::string &line) {
    for (const std::string &each : resolved.passed_over)
        if (each == line) return true;
    for (const std::string &each : resolved.passed_over) print_error("passed over: %s\n", each.c_str());
    return false;
}

void nothing_at_all_is_one_worker(void **) {
    Resolved resolved = from_environment({});
    assert_true(resolved.kind == Kind::kLocal);
    assert_text(resolved.source, "single");
    assert_int_equal(resolved.size, 1);
    assert_true(resolved.cluster.empty());
    assert_int_equal(resolved.passed_over.size(), 9);
    assert_true(passed_over(resolved, "config: cluster.* is not set"));
    assert_true(passed_over(resolved, "torch: RANK and WORLD_SIZE are not set"));
    assert_true(from_environment({}, "strategy: multi_worker").kind == Kind::kLocal);
}

void a_worker_of_an_elastic_job_needs_no_rank(void **) {
    const std::string elastic = "elastic: {replicas: 8}";
    const Variables store = {{"MDIST_STORE", "h:1"}, {"MDIST_STORE_OWNER", "launcher"}, {"MDIST_JOB_ID", "mine"}};
    Resolved resolved = from_environment(store, elastic);
    assert_true(resolved.kind == Kind::kLocal);
    assert_text(resolved.store, "h:1");
    assert_text(resolved.job, "mine");
    assert_false(resolved.serves_store);
    assert_text(from_environment(store).store, ""); // a job of fixed size does
    Variables numbered = store;
    numbered.insert({{"MDIST_RANK", "0"}, {"MDIST_SIZE", "1"}});
    assert_text(from_environment(numbered, elastic).store, "h:1");
    assert_text(from_environment({{"MDIST_STORE", "h:1"}}, elastic).store, ""); // whose store is it?
    Variables wrong = store;
    wrong["MDIST_STORE"] = "nowhere";
    assert_refused(refused(wrong, elastic), "bad_value", "MDIST_STORE");
}

void tf_config_says_who_this_is(void **) {
    Resolved resolved = from_environment({{"TF_CONFIG", kTfConfig}});
    assert_true(resolved.kind == Kind::kMember);
    assert_text(resolved.source, "tf_config");
    assert_text(resolved.origin, "TF_CONFIG");
    assert_int_equal(resolved.rank, 2);
    assert_int_equal(resolved.size, 3);
    assert_true(resolved.task == Task({TaskType::kWorker, 1}));
    assert_text(resolved.names[0], "worker 0 (chief, h0:1)");
    assert_text(resolved.names[2], "worker 2 (h2:1)");
    assert_text(resolved.store, "h0:1");
    assert_false(resolved.serves_store);
}

void a_sparse_tf_config_has_ranks_without_gaps(void **) {
    const std::string cluster = R"({"cluster":{"worker":{"3":"a:1","5":"b:1"}},"task":{"type":"worker","index":)";
    Resolved resolved = from_environment({{"TF_CONFIG", cluster + "5}}"}});
    assert_int_equal(resolved.rank, 1);
    assert_int_equal(resolved.size, 2);
    assert_text(resolved.names[1], "worker 1 (b:1)");
    assert_text(resolved.store, "a:1");
    assert_false(resolved.serves_store);
    assert_true(from_environment({{"TF_CONFIG", cluster + "3}}"}}).serves_store);
    assert_refused(refused({{"TF_CONFIG", cluster + "0}}"}}), "bad_cluster", "none with that index");
}

void a_worker_that_sees_itself_alone_is_refused(void **) {
    const std::string cluster = R"({"cluster":{"worker":{"5":"b:1"},"ps":["p:1"]},"task":{"type":"worker","index":5}})";
    assert_refused(refused({{"TF_CONFIG", cluster}}), "bad_cluster", "the cluster has worker 5 but no other worker");
    Resolved first =
        from_environment({{"TF_CONFIG", R"({"cluster":{"worker":{"0":"b:1"}},"task":{"type":"worker","index":0}})"}});
    assert_int_equal(first.size, 1);
}

void an_evaluator_is_alone_and_a_ps_is_refused(void **) {
    Resolved resolved = from_environment(
        {{"TF_CONFIG", R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"evaluator","index":0}})"}});
    assert_true(resolved.kind == Kind::kEvaluator);
    assert_int_equal(resolved.size, 1);
    assert_text(resolved.names[0], "evaluator 0");
    assert_text(resolved.store, "");
    assert_refused(
        refused({{"TF_CONFIG", R"({"cluster":{"worker":["a:1"],"ps":["b:1"]},"task":{"type":"ps","index":0}})"}}),
        "parameter_server", "TF_CONFIG: the task is ps 0");
}

void mirrored_looks_at_nothing(void **) {
    Resolved resolved = from_environment({{"TF_CONFIG", "{"}, {"RANK", "x"}}, "strategy: mirrored");
    assert_true(resolved.kind == Kind::kLocal);
    assert_int_equal(resolved.passed_over.size(), 1);
    assert_true(from_environment({}, text("strategy: mirrored\n", kTwoWorkers)).kind == Kind::kLocal);
}

void a_config_of_its_own_does_not_look_at_the_environment(void **) {
    const FakeEnvironment environment(
        {{"TF_CONFIG", kTfConfig}, {"MDIST_RANK", "0"}, {"MDIST_SIZE", "2"}, {"MDIST_STORE", "x:1"}});
    assert_true(resolve(Config(), FakeEnvironment({{"TF_CONFIG", kTfConfig}, {"MDIST_STORE", "x:1"}})).kind ==
                Kind::kLocal);
    Resolved resolved = resolve(plain_config(kTwoWorkers), environment);
    assert_int_equal(resolved.rank, 1); // by its address
    assert_text(resolved.store, "10.0.0.1:4400");
}

void a_cluster_in_the_config_comes_first(void **) {
    std::string yaml = text(kTwoWorkers, "task: {type: worker, index: 0}");
    Resolved resolved = from_environment({{"MDIST_RANK", "0"}, {"MDIST_SIZE", "2"}}, yaml);
    assert_text(resolved.source, "config");
    assert_text(resolved.origin, "c.yaml:1:19");
    assert_true(resolved.serves_store);
    assert_text(resolved.store, "10.0.0.1:4400");
    assert_true(passed_over(resolved,
                            "env: MDIST_RANK and related variables (MDIST_SIZE, MDIST_RANK) says rank 0 of 2 as well, "
                            "but has a lower priority"));
}

void the_task_is_that_of_mdist_rank_or_of_this_hosts_address(void **) {
    assert_int_equal(from_environment({{"MDIST_RANK", "0"}}, kTwoWorkers).rank, 0);
    assert_int_equal(from_environment({}, kTwoWorkers).rank, 1);
    assert_refused(refused({{"MDIST_RANK", "2"}}, kTwoWorkers), "unusable", "2 is not a valid rank in the cluster");
    assert_refused(
        refused({}, "cluster: {worker: ['a:1', 'b:1']}"), "no_task",
        "c.yaml:1:19: cannot tell which task of the cluster this process is. No address in it belongs to this host");
    assert_refused(refused({}, "cluster: {chief: ['N7.example.org:1'], worker: ['localhost:2', 'c:1']}"), "no_task",
                   "Several tasks are on this host: chief 0 (N7.example.org:1), worker 0 (localhost:2)");
    assert_int_equal(from_environment({}, "cluster: {worker: ['a:1', '[0::1]:1']}").rank, 1);
}

void a_task_without_a_cluster_is_refused(void **) {
    assert_refused(refused({}, "task: {type: worker, index: 1}"), "bad_cluster", "c.yaml:1:14: the task is worker 1");
    assert_refused(refused({}, "task: {index: 1}"), "bad_cluster", "task.type is not");
    assert_refused(refused({}, text(kTwoWorkers, "task: {type: worker}")), "bad_cluster", "task.index is not set");
    assert_refused(refused({}, text(kTwoWorkers, "task: {type: chief}")), "bad_cluster",
                   "c.yaml:1:19: the task is chief 0, but the cluster has no chief");
}

void the_store_of_the_environment_has_the_last_word(void **) {
    Resolved resolved = from_environment(
        {{"TF_CONFIG", kTfConfig}, {"MDIST_STORE", "s:9"}, {"MDIST_JOB_ID", "job"}, {"MDIST_RESTART", "3"}});
    assert_text(resolved.store, "s:9");
    assert_text(resolved.job, "job");
    assert_int_equal(resolved.restart, 3);
    Variables own{{"MDIST_RANK", "0"}, {"MDIST_SIZE", "2"}, {"MDIST_STORE", "s:9"}};
    assert_true(from_environment(own).serves_store);
    own["MDIST_STORE_OWNER"] = "launcher";
    assert_false(from_environment(own).serves_store);
    own["MDIST_STORE_OWNER"] = "me";
    assert_refused(refused(own), "bad_value", "MDIST_STORE_OWNER is \"me\"; use launcher or worker");
    own["MDIST_STORE"] = "nowhere";
    own.erase("MDIST_STORE_OWNER");
    assert_refused(refused(own), "bad_value", "MDIST_STORE: ");
    own.erase("MDIST_STORE");
    assert_refused(refused(own), "unusable", "MDIST_STORE is not set");
}

void sources_that_contradict_each_other_are_refused(void **) {
    Variables both{
        {"TF_CONFIG", kTfConfig}, {"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
    assert_refused(refused(both), "contradiction",
                   "TF_CONFIG (TF_CONFIG) says rank 2 of 3, but torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT) "
                   "says rank 1 of 3. Unset the wrong one, or choose with MDIST_BOOTSTRAP=tf_config or torch");
    both["MDIST_BOOTSTRAP"] = "torch";
    assert_int_equal(from_environment(both).rank, 1);
    both["MDIST_BOOTSTRAP"] = "tf_config";
    assert_true(passed_over(from_environment(both), "torch: MDIST_BOOTSTRAP is tf_config"));
    both["MDIST_BOOTSTRAP"] = "single";
    assert_true(from_environment(both).kind == Kind::kLocal);
    both["MDIST_BOOTSTRAP"] = "slurm";
    assert_refused(refused(both), "unusable", "MDIST_BOOTSTRAP asks for slurm, but SLURM_STEP_ID is not set");
    both["MDIST_BOOTSTRAP"] = "mpi";
    assert_refused(refused(both), "bad_value", "MDIST_BOOTSTRAP is \"mpi\"; use auto, env, tf_config, torch");
}

void seen_but_unusable_is_an_error_where_nothing_came_before(void **) {
    assert_refused(refused({{"RANK", "1"}}), "unusable", "cannot use torchrun: WORLD_SIZE is not set, though RANK is");
    assert_refused(refused({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), "bad_value", "cannot use torchrun: RANK: \"one\"");
    assert_refused(refused({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "unusable", "rank 2 is not within 0 to 1");
    assert_refused(refused({{"TF_CONFIG", "{"}}), "bad_json",
                   "cannot use TF_CONFIG: TF_CONFIG: not valid JSON at byte ");
    Resolved resolved = from_environment({{"TF_CONFIG", kTfConfig}, {"RANK", "1"}});
    assert_text(resolved.source, "tf_config");
    assert_true(passed_over(resolved, "torch: WORLD_SIZE is not set, though RANK is"));
}

void a_slurm_step_that_started_another_launcher_is_passed_over(void **) {
    Resolved resolved = from_environment({{"SLURM_STEP_ID", "0"},
                                          {"SLURM_STEP_NUM_TASKS", "2"},
                                          {"SLURM_PROCID", "1"},
                                          {"SLURM_JOB_ID", "7"},
                                          {"SLURM_STEP_NODELIST", "n[1-2]"},
                                          {"RANK", "5"},
                                          {"WORLD_SIZE", "8"},
                                          {"LOCAL_RANK", "1"},
                                          {"MASTER_ADDR", "n1"},
                                          {"MASTER_PORT", "29500"}});
    assert_text(resolved.source, "torch");
    assert_int_equal(resolved.rank, 5);
}

void what_is_not_built_is_refused_and_not_ignored(void **) {
    Outcome outcome = refused({}, "communication: {implementation: nccl}");
    assert_int_equal(outcome.status, MDIST_ERR_UNSUPPORTED);
    assert_text(outcome.reason, "not_built");
    assert_begins(outcome, "c.yaml:1:");
    for (const char *word : {"auto", "ring", "inproc", "shm", "tcp"})
        from_environment({}, text("communication: {implementation: ", word, "}"));
    for (const char *word : {"auto", "file", "data", "'off'", "marked"})
        from_environment({}, text("data: {order: replica, auto_shard_policy: ", word, "}"));
}

/// A program that sets a key by hand, and doesn't load the environment, would train as many times as there are workers.
void workers_that_a_config_does_not_know_of_are_an_error(void **) {
    const Variables launched = {{"MDIST_BOOTSTRAP", "env"}, {"MDIST_RANK", "1"}, {"MDIST_SIZE", "2"}};
    const auto plain = [](const std::string &yaml, Variables variables) {
        return outcome_of([&] { resolve(plain_config(yaml), FakeEnvironment(std::move(variables))); });
    };
    const Outcome outcome = plain("devices: cpu", launched);
    assert_refused(outcome, "unread", "MDIST_RANK");
    assert_says(outcome, "there are 2 workers");
    assert_says(outcome, "mdist_config_load_environment");
    assert_says(outcome, "strategy to mirrored, or MDIST_BOOTSTRAP to single");

    assert_int_equal(plain("strategy: mirrored", launched).status, MDIST_OK);
    assert_int_equal(plain("", {{"MDIST_BOOTSTRAP", "single"}, {"MDIST_RANK", "1"}, {"MDIST_SIZE", "2"}}).status,
                     MDIST_OK);
    assert_int_equal(plain("", {{"MDIST_RANK", "0"}, {"MDIST_SIZE", "1"}}).status, MDIST_OK);
    assert_int_equal(plain(std::string(kTwoWorkers) + "task: {type: worker, index: 0}\n", launched).status, MDIST_OK);
    // What another launcher says may be meant for somebody else.
    const Resolved alone =
        resolve(plain_config(""),
                FakeEnvironment({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}}));
    assert_true(alone.kind == Kind::kLocal);
}

} // namespace

SUBJECT(cluster_resolve) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_a_config_does_not_know_of_are_an_error),
        cmocka_unit_test(nothing_at_all_is_one_worker),
        cmocka_unit_test(a_worker_of_an_elastic_job_needs_no_rank),
        cmocka_unit_test(tf_config_says_who_this_is),
        cmocka_unit_test(a_sparse_tf_config_has_ranks_without_gaps),
        cmocka_unit_test(a_worker_that_sees_itself_alone_is_refused),
        cmocka_unit_test(an_evaluator_is_alone_and_a_ps_is_refused),
        cmocka_unit_test(mirrored_looks_at_nothing),
        cmocka_unit_test(a_config_of_its_own_does_not_look_at_the_environment),
        cmocka_unit_test(a_cluster_in_the_config_comes_first),
        cmocka_unit_test(the_task_is_that_of_mdist_rank_or_of_this_hosts_address),
        cmocka_unit_test(a_task_without_a_cluster_is_refused),
        cmocka_unit_test(the_store_of_the_environment_has_the_last_word),
        cmocka_unit_test(sources_that_contradict_each_other_are_refused),
        cmocka_unit_test(seen_but_unusable_is_an_error_where_nothing_came_before),
        cmocka_unit_test(a_slurm_step_that_started_another_launcher_is_passed_over),
        cmocka_unit_test(what_is_not_built_is_refused_and_not_ignored),
    };
    return cmocka_run_group_tests_name("cluster_resolve", tests, nullptr, nullptr);
}
