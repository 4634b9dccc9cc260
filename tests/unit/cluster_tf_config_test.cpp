// SPDX-License-Identifier: Apache-2.0
// TF_CONFIG: what TensorFlow takes, with its meaning, and what is refused, with the place.
#include "cluster/tf_config.h"

#include "cluster_support.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

using enum TaskType;

Cluster read(std::string_view json) {
    return parse_tf_config(json, "TF_CONFIG");
}

void assert_refused(std::string_view json, const char *reason, std::string_view words) {
    Outcome outcome = outcome_of([&] { read(json); });
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_text(outcome.reason, reason);
    assert_text(outcome.message, text("TF_CONFIG: ", words));
}

void a_cluster_and_a_task(void **) {
    Cluster cluster =
        read(R"({"cluster":{"chief":["h0:1"],"worker":["h1:1","h2:1"]},"task":{"type":"worker","index":1}})");
    assert_int_equal(cluster.worker_count(kWorker), 3);
    assert_true(cluster.task() == Task({kWorker, 1}));
    assert_int_equal(cluster.id_in_cluster(*cluster.task()), 2);
    assert_false(cluster.is_chief(*cluster.task()));
    assert_text(cluster.master(cluster.task()), "h2:1");
}

void lists_may_be_objects_and_an_index_a_text_or_a_fraction(void **) {
    Cluster cluster =
        read(R"({"cluster":{"worker":{"0":"a:1","7":"b:1"},"ps":["p:1"]},"task":{"type":"ps","index":"0"}})");
    assert_text(cluster.address({kWorker, 7}), "b:1");
    assert_int_equal(cluster.task_count(kWorker), 2);
    assert_true(cluster.task() == Task({kPs, 0}));
    cluster = read(R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":1.0}})");
    assert_true(cluster.task() == Task({kWorker, 1}));
}

void a_task_may_have_any_index_of_a_sparse_list(void **) {
    Cluster cluster = read(R"({"cluster":{"worker":{"0":"a:1","5":"b:1"}},"task":{"type":"worker","index":5}})");
    assert_true(cluster.task() == Task({kWorker, 5}));
    assert_text(cluster.master(cluster.task()), "b:1");
    assert_int_equal(cluster.id_in_cluster(*cluster.task()), 1);
    assert_int_equal(cluster.worker_count(kWorker), 2);
    cluster = read(R"({"cluster":{"worker":{"5":"b:1"},"ps":["p:1"]},"task":{"type":"worker","index":5}})");
    assert_true(cluster.task() == Task({kWorker, 5}));
    assert_refused(R"({"cluster":{"worker":{"0":"a:1","5":"b:1"}},"task":{"type":"worker","index":1}})", "bad_cluster",
                   "the task is worker 1, but the cluster has 2 worker tasks, none with that index");
}

void without_a_cluster_the_task_is_passed_over(void **) {
    for (const char *json : {"{}", " { }\n", R"({"cluster":{}})", R"({"task":{"type":"worker","index":3}})",
                             R"({"cluster":{},"task":5})", R"({"environment":"cloud","job":{"a":[1,2.5,null,true]}})"})
        assert_true(read(json).empty());
}

void what_else_it_holds_is_passed_over_or_kept(void **) {
    Cluster cluster = read(R"({"environment":"cloud","rpc_layer":"grpc","session_master":null,
        "cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":0,"trial":"3"}})");
    assert_text(cluster.master(cluster.task()), "grpc://a:1");
    cluster = read(R"({"session_master":"m","cluster":{"worker":["a:1"]},"task":{"type":"worker","index":0}})");
    assert_text(cluster.master(cluster.task()), "m");
    assert_text(read(R"({"cluster":{"worker":["\u0061:1"]},"task":{"type":"worker","index":0}})").address({kWorker, 0}),
                "a:1");
}

void an_evaluator_may_be_left_out_of_the_cluster(void **) {
    Cluster cluster = read(R"({"cluster":{"worker":["a:1"]},"task":{"type":"evaluator","index":0}})");
    assert_int_equal(cluster.worker_count(kEvaluator), 1);
    assert_int_equal(cluster.id_in_cluster({kEvaluator, 0}), 0);
    // Beside several tasks it has no address.
    cluster = read(R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"evaluator","index":0}})");
    assert_text(cluster.master(cluster.task()), "");
}

void broken_json_is_refused_with_its_place(void **) {
    assert_refused("{", "bad_json", "not valid JSON at byte 2");
    assert_refused("", "bad_json", "not valid JSON at byte 1");
    assert_refused("{\"a\": 1,\n \"b\" 2}", "bad_json", "not valid JSON at byte 15");
    assert_refused("{\"a\": \"\xff\"}", "bad_json", "not valid JSON at byte 8");
    assert_refused("{} {}", "bad_json", "not valid JSON at byte 4");
    assert_refused("[]", "bad_json", "is a list; it must be an object, {\"cluster\": ...}");
    assert_refused("{\"a\": 1e999}", "bad_json", "holds a number that is too large");
    assert_refused(R"({"cluster":{"worker":["a:1"],"worker":["b:1"]}})", "bad_json",
                   "the key \"worker\" is given twice");
    assert_refused(R"({"x":{"a":1},"y":[{"b":1,"b":2}]})", "bad_json", "the key \"b\" is given twice");
}

void values_of_the_wrong_type_are_refused_with_their_place(void **) {
    const struct {
        const char *json, *words;
    } cases[] = {
        {R"({"cluster":["a:1"]})", "cluster is a list; it must be {\"worker\": [...]}"},
        {R"({"cluster":null})", "cluster is null; it must be {\"worker\": [...]}"},
        {R"({"cluster":{"worker":"a:1"}})",
         "cluster.worker is \"a:1\"; it must be a list of addresses or {\"index\": address}"},
        {R"({"cluster":{"worker":["a:1",5]}})", "cluster.worker[1] is 5; it must be an address, \"host:port\""},
        {R"({"cluster":{"worker":{"x":"a:1"}}})",
         "cluster.worker: the index is \"x\"; it must be a whole number from 0"},
        {R"({"cluster":{"worker":{"1":""}}})", "cluster.worker[\"1\"] is \"\"; it must be an address, \"host:port\""},
        {R"({"cluster":{"worker":["a:1"]},"task":7})", "task is 7; it must be {\"type\": ..., \"index\": ...}"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":7,"index":0}})", "task.type is 7; it must be a string"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":1.5}})",
         "task.index is 1.5; it must be a whole number from 0"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":-1}})",
         "task.index is -1; it must be a whole number from 0"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":true}})",
         "task.index is true; it must be a whole number from 0"},
        {R"({"rpc_layer":[]})", "rpc_layer is a list; it must be a string"},
    };
    for (const auto &c : cases) assert_refused(c.json, "bad_json", c.words);
}

void long_values_are_cut_off_in_messages(void **) {
    const std::string zeros(100'000, '0');
    const auto refused = [&](const std::string &value) {
        return outcome_of([&] { read(text(R"({"cluster":{"worker":[")", value, R"("]}})")); }).message.size() +
               outcome_of([&] { read(text(R"({"cluster":{"worker":1.)", value, "}}")); }).message.size();
    };
    assert_in_range(refused(zeros), 100, 600);
}

void clusters_that_cannot_be_are_refused(void **) {
    const struct {
        const char *json, *words;
    } cases[] = {
        {R"({"cluster":{"worker":["a:1"]}})",
         "it has a cluster but no task.type. Set it, so that this process knows which task it is"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":null}})",
         "it has a cluster but no task.index. Set it, so that this process knows which task it is"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"worker","index":1}})",
         "the task is worker 1, but the cluster has 1 worker tasks, counted from 0"},
        {R"({"cluster":{"worker":[]},"task":{"type":"worker","index":0}})",
         "the task is worker 0, but the cluster has 0 worker tasks, counted from 0"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"chief","index":0}})",
         "the task is chief 0, but the cluster has no chief"},
        {R"({"cluster":{"chief":["a:1","b:1"]},"task":{"type":"chief","index":0}})",
         "the cluster has 2 chief tasks; at most one is allowed"},
        {R"({"cluster":{"master":["a:1"]}})",
         "\"master\" is not a valid task type; use chief, worker, evaluator or ps"},
        {R"({"cluster":{"worker":["a:1"]},"task":{"type":"","index":0}})",
         "\"\" is not a valid task type; use chief, worker, evaluator or ps"},
        {R"({"cluster":{"worker":["a:b"]}})", "worker 0: the address \"a:b\" has no port; write host:port"},
        {R"({"cluster":{"worker":{"0":"a:1","00":"b:1"}}})", "worker 0 is given twice, as \"a:1\" and \"b:1\""},
        {R"({"cluster":{"worker":{"65536":"a:1"}}})", "worker 65536: an index must be less than 65536"},
    };
    for (const auto &c : cases) assert_refused(c.json, "bad_cluster", c.words);
}

void size_and_depth_are_limited(void **) {
    assert_refused(std::string(kMostTfConfigBytes + 1, ' '), "too_large", "longer than 1048576 bytes");
    std::string deep(100'000, '[');
    assert_refused(text("{\"a\":", deep), "bad_json", "nested deeper than 32");
    std::string padded = "{}";
    padded.resize(kMostTfConfigBytes, ' ');
    assert_true(read(padded).empty());
}

} // namespace

SUBJECT(cluster_tf_config) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_and_a_task),
        cmocka_unit_test(lists_may_be_objects_and_an_index_a_text_or_a_fraction),
        cmocka_unit_test(a_task_may_have_any_index_of_a_sparse_list),
        cmocka_unit_test(without_a_cluster_the_task_is_passed_over),
        cmocka_unit_test(what_else_it_holds_is_passed_over_or_kept),
        cmocka_unit_test(an_evaluator_may_be_left_out_of_the_cluster),
        cmocka_unit_test(broken_json_is_refused_with_its_place),
        cmocka_unit_test(values_of_the_wrong_type_are_refused_with_their_place),
        cmocka_unit_test(long_values_are_cut_off_in_messages),
        cmocka_unit_test(clusters_that_cannot_be_are_refused),
        cmocka_unit_test(size_and_depth_are_limited),
    };
    return cmocka_run_group_tests_name("cluster_tf_config", tests, nullptr, nullptr);
}
