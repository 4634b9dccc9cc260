// SPDX-License-Identifier: Apache-2.0
// The rules of a cluster, with TensorFlow's own answers as expectations.
#include "cluster/cluster.h"

#include "cluster_support.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

using enum TaskType;

/// The cluster of TensorFlow's multi_worker_util: {chief: 1, worker: 2, ps: 1, evaluator: 1}.
Cluster reference() {
    Cluster cluster;
    cluster.add({kChief, 0}, "127.0.0.1:1234");
    cluster.add({kWorker, 0}, "127.0.0.1:8964");
    cluster.add({kWorker, 1}, "127.0.0.1:2333");
    cluster.add({kPs, 0}, "127.0.0.1:1926");
    cluster.add({kEvaluator, 0}, "127.0.0.1:3141");
    return cluster;
}

Cluster workers(std::uint32_t count) {
    Cluster cluster;
    for (std::uint32_t i = 0; i < count; ++i) cluster.add({kWorker, i}, text("h", i, ":1"));
    return cluster;
}

void assert_refused(const Outcome &outcome, const std::string &words) {
    assert_int_equal(outcome.status, MDIST_ERR_CONFIG);
    assert_text(outcome.reason, "bad_cluster");
    assert_says(outcome, words);
}

void ids_are_those_of_tensorflow(void **) {
    Cluster cluster = reference();
    assert_int_equal(cluster.id_in_cluster({kChief, 0}), 0);
    assert_int_equal(cluster.id_in_cluster({kWorker, 0}), 1);
    assert_int_equal(cluster.id_in_cluster({kWorker, 1}), 2);
    assert_int_equal(cluster.id_in_cluster({kEvaluator, 0}), 0);
    assert_refused(outcome_of([&] { cluster.id_in_cluster({kPs, 0}); }), "ps 0 has no rank");
    assert_int_equal(workers(3).id_in_cluster({kWorker, 2}), 2);
}

void the_chief_is_the_chief_or_else_worker_0(void **) {
    Cluster cluster = reference();
    assert_true(cluster.is_chief({kChief, 0}));
    assert_true(cluster.is_chief({kEvaluator, 0}));
    assert_false(cluster.is_chief({kWorker, 0}));
    assert_false(cluster.is_chief({kPs, 0}));
    assert_true(workers(2).is_chief({kWorker, 0}));
    assert_false(workers(2).is_chief({kWorker, 1}));
    assert_refused(outcome_of([] {
                       workers(2).is_chief({kWorker, 2});
                   }),
                   "the task is worker 2, but the cluster has 2");
}

void an_evaluator_is_a_cluster_of_its_own(void **) {
    assert_int_equal(reference().worker_count(kChief), 3);
    assert_int_equal(reference().worker_count(kWorker), 3);
    assert_int_equal(reference().worker_count(kEvaluator), 1);
    assert_int_equal(workers(2).worker_count(kEvaluator), 1); // left out, and there all the same
    assert_true(workers(2).is_chief({kEvaluator, 0}));
    assert_false(reference().collective_leader(Task{kEvaluator, 0}).has_value());
    assert_refused(outcome_of([] { reference().worker_count(kPs); }), "a ps does not train");
}

void leaders_are_those_of_tensorflow(void **) {
    assert_true(reference().collective_leader(Task{kWorker, 1}) == Task({kChief, 0}));
    assert_true(workers(2).collective_leader(Task{kWorker, 1}) == Task({kWorker, 0}));
    assert_false(Cluster().collective_leader(std::nullopt).has_value());
    Cluster nobody;
    nobody.add({kEvaluator, 0}, "a:1");
    assert_refused(outcome_of([&] { nobody.collective_leader(std::nullopt); }), "neither a chief nor a worker");
}

void tasks_that_cannot_be_are_refused(void **) {
    Cluster two = workers(2);
    assert_refused(outcome_of([&] {
                       two.check(Task{kChief, 0});
                   }),
                   "the task is chief 0, but the cluster has no chief");
    assert_refused(outcome_of([&] { two.check(Task{kPs, 0}); }), "has no ps");
    assert_int_equal(outcome_of([&] { two.check(Task{kEvaluator, 7}); }).status, MDIST_OK);
    two.add({kChief, 0}, "c:1");
    two.add({kChief, 1}, "d:1");
    assert_refused(outcome_of([&] { two.check(std::nullopt); }), "2 chief tasks; at most one is allowed");
    Cluster evaluators;
    evaluators.add({kEvaluator, 0}, "a:1");
    evaluators.add({kEvaluator, 1}, "b:1");
    assert_refused(outcome_of([&] { evaluators.check(std::nullopt); }), "2 evaluator tasks");
    assert_refused(outcome_of([&] { parse_task_type("master"); }), "\"master\" is not a valid task type");
    assert_refused(outcome_of([&] { two.add({kWorker, 0}, "x:1"); }), "worker 0 is given twice");
    assert_refused(outcome_of([&] { two.add({kWorker, 9}, "x"); }), "worker 9: the address \"x\" has no port");
    assert_refused(outcome_of([&] { two.add({kWorker, kMostTasks}, "x:1"); }), "an index must be less than 65536");
}

void an_address_is_asked_for_by_task(void **) {
    assert_text(reference().address({kWorker, 1}), "127.0.0.1:2333");
    Outcome outcome = outcome_of([] { reference().address({kWorker, 2}); });
    assert_int_equal(outcome.status, MDIST_ERR_NOT_FOUND);
    assert_says(outcome, "there is no worker 2 in the cluster, which has 2 worker tasks");
    assert_says(outcome_of([] { workers(1).address({kPs, 0}); }), "there is no ps in the cluster");
}

void the_master_is_empty_for_one_task(void **) {
    assert_text(workers(1).master(Task{kWorker, 0}), "");
    assert_text(Cluster().master(std::nullopt), "");
    Cluster cluster = workers(2);
    assert_text(cluster.master(Task{kWorker, 1}), "h1:1");
    cluster.set_rpc_layer("grpc");
    assert_text(cluster.master(Task{kWorker, 1}), "grpc://h1:1");
    cluster.set_master("somewhere");
    assert_text(cluster.master(Task{kWorker, 1}), "somewhere");
}

void members_are_numbered_in_the_order_of_their_indices(void **) {
    assert_int_equal(reference().members().size(), 3);
    assert_true(reference().members()[1] == Task({kWorker, 0}));
    Cluster twice = workers(2);
    twice.add({kChief, 0}, "h1:1");
    assert_refused(outcome_of([&] { twice.members(); }), "the address \"h1:1\" twice");
}

void a_sparse_list_has_ranks_without_gaps(void **) {
    Cluster sparse;
    sparse.add({kWorker, 7}, "h:1");
    sparse.add({kWorker, 2}, "c:1");
    sparse.add({kPs, 4}, "p:1");
    assert_int_equal(sparse.worker_count(kWorker), 2);
    assert_true(sparse.members() == std::vector<Task>({{kWorker, 2}, {kWorker, 7}}));
    assert_int_equal(sparse.id_in_cluster({kWorker, 2}), 0);
    assert_int_equal(sparse.id_in_cluster({kWorker, 7}), 1);
    assert_true(sparse.is_chief({kWorker, 2}));
    assert_false(sparse.is_chief({kWorker, 7}));
    assert_true(sparse.collective_leader(Task{kWorker, 7}) == Task({kWorker, 2}));
    assert_text(sparse.master(Task{kWorker, 7}), "h:1");
    for (std::uint32_t index : {0u, 1u, 3u, 8u})
        assert_refused(
            outcome_of([&] {
                sparse.id_in_cluster({kWorker, index});
            }),
            text("the task is worker ", index, ", but the cluster has 2 worker tasks, none with that index"));

    sparse.add({kChief, 3}, "x:1");
    sparse.add({kEvaluator, 5}, "e:1");
    assert_int_equal(sparse.worker_count(kChief), 3);
    assert_int_equal(sparse.id_in_cluster({kChief, 3}), 0);
    assert_int_equal(sparse.id_in_cluster({kWorker, 7}), 2);
    assert_false(sparse.is_chief({kWorker, 2}));
    assert_true(sparse.collective_leader(Task{kWorker, 2}) == Task({kChief, 3}));
    assert_int_equal(sparse.worker_count(kEvaluator), 1);
    assert_true(sparse.is_chief({kEvaluator, 5}));
}

// The cases of TensorFlow's UnionClusterResolver tests.
void a_union_puts_lists_one_after_another(void **) {
    Cluster first = workers(2), second;
    first.set_task(Task{kWorker, 1});
    second.add({kWorker, 0}, "x:1");
    second.add({kPs, 0}, "p:1");
    Cluster all = united({first, second});
    assert_int_equal(all.task_count(kWorker), 3);
    assert_text(all.address({kWorker, 2}), "x:1");
    assert_text(all.address({kPs, 0}), "p:1");
    assert_true(all.task() == Task({kWorker, 1}));
    assert_refused(outcome_of([] { united({}); }), "at least one");
}

void a_union_with_gaps_keeps_indices(void **) {
    Cluster list = workers(2), sparse;
    sparse.add({kWorker, 3}, "x:1");
    Cluster all = united({list, sparse});
    assert_int_equal(all.task_count(kWorker), 3);
    assert_text(all.address({kWorker, 3}), "x:1");
    sparse.add({kWorker, 1}, "y:1");
    assert_refused(outcome_of([&] { united({list, sparse}); }), "worker 1 is given twice");
}

} // namespace

SUBJECT(cluster_rules) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_tensorflow),
        cmocka_unit_test(the_chief_is_the_chief_or_else_worker_0),
        cmocka_unit_test(an_evaluator_is_a_cluster_of_its_own),
        cmocka_unit_test(leaders_are_those_of_tensorflow),
        cmocka_unit_test(tasks_that_cannot_be_are_refused),
        cmocka_unit_test(an_address_is_asked_for_by_task),
        cmocka_unit_test(the_master_is_empty_for_one_task),
        cmocka_unit_test(members_are_numbered_in_the_order_of_their_indices),
        cmocka_unit_test(a_sparse_list_has_ranks_without_gaps),
        cmocka_unit_test(a_union_puts_lists_one_after_another),
        cmocka_unit_test(a_union_with_gaps_keeps_indices),
    };
    return cmocka_run_group_tests_name("cluster", tests, nullptr, nullptr);
}
