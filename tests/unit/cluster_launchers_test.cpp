// SPDX-License-Identifier: Apache-2.0
// Each launcher alone, by the variables it really sets (measured, or as its manual has them), and what it takes to be
// unusable.
#include "cluster/launcher.h"

#include "cluster/resolve.h"
#include "cluster_support.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

using Variables = FakeEnvironment::Variables;

Resolved found(Variables variables) {
    return resolve(environment_config(), FakeEnvironment(std::move(variables)));
}

Outcome refused(Variables variables) {
    return outcome_of([&] { found(std::move(variables)); });
}

void assert_found(const Resolved &resolved, const char *source, std::uint32_t rank, std::uint32_t size,
                  const std::string &store) {
    assert_text(resolved.source, source);
    assert_int_equal(resolved.rank, rank);
    assert_int_equal(resolved.size, size);
    assert_text(resolved.store, store);
    assert_int_equal(resolved.serves_store, rank == 0 && size > 1);
    assert_true(resolved.task == Task({TaskType::kWorker, rank}));
    assert_int_equal(resolved.cluster.task_count(), size);
    assert_text(resolved.names[rank], text("worker ", rank));
}

Variables without(Variables variables, const char *name) {
    variables.erase(name);
    return variables;
}

Variables with(Variables variables, const char *name, const char *value) {
    variables[name] = std::string(value);
    return variables;
}

const Variables kMdist{{"MDIST_RANK", "1"},       {"MDIST_SIZE", "3"},        {"MDIST_LOCAL_RANK", "1"},
                       {"MDIST_LOCAL_SIZE", "2"}, {"MDIST_STORE", "h0:4400"}, {"MDIST_JOB_ID", "j"}};

void mdist_launch(void **) {
    Resolved resolved = found(kMdist);
    assert_found(resolved, "env", 1, 3, "h0:4400");
    assert_int_equal(*resolved.local_rank, 1);
    assert_int_equal(*resolved.local_size, 2);
    assert_text(resolved.job, "j");
    assert_found(found({{"MDIST_SIZE", "1"}}), "env", 0, 1, "");
    assert_says(refused(without(kMdist, "MDIST_RANK")), "MDIST_RANK is not set, though MDIST_SIZE is");
    assert_says(refused(without(kMdist, "MDIST_SIZE")), "MDIST_SIZE is not set, though MDIST_RANK is");
    assert_says(refused(without(kMdist, "MDIST_STORE")), "MDIST_STORE is not set");
    assert_says(refused(with(kMdist, "MDIST_SIZE", "two")), "MDIST_SIZE: \"two\" is not a valid count");
    assert_says(refused(with(kMdist, "MDIST_SIZE", "1")), "rank 1 is not within 0 to 0, the ranks of 1 workers");
    assert_says(refused(with(kMdist, "MDIST_SIZE", "0")), "the job has 0 workers");
    assert_says(refused(with(kMdist, "MDIST_SIZE", "70000")), "70000 workers are too many; at most 65536");
}

const Variables kTorch{{"RANK", "3"},
                       {"WORLD_SIZE", "4"},
                       {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", "2"},
                       {"GROUP_RANK", "1"},
                       {"MASTER_ADDR", "h0"},
                       {"MASTER_PORT", "29500"},
                       {"TORCHELASTIC_RUN_ID", "run"},
                       {"TORCHELASTIC_RESTART_COUNT", "2"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "False"}};

void torchrun(void **) {
    Resolved resolved = found(kTorch);
    assert_found(resolved, "torch", 3, 4, "h0:29500");
    assert_text(resolved.job, "run");
    assert_int_equal(resolved.restart, 2);
    assert_int_equal(*resolved.local_size, 2);
    assert_text(found(with(kTorch, "TORCHELASTIC_USE_AGENT_STORE", "True")).store, "h0:29501");
    assert_text(found(with(kTorch, "MASTER_ADDR", "fe80::1")).store, "[fe80::1]:29500");
    assert_text(found(with(kTorch, "KUBERNETES_PORT", "tcp://10.0.0.1:443")).source, "torch");
    assert_says(refused(without(kTorch, "MASTER_PORT")), "MASTER_PORT is not set");
    assert_says(refused(with(kTorch, "MASTER_PORT", "65536")), "not within 1 to 65535");
    assert_text(found(with(without(kTorch, "MASTER_PORT"), "MDIST_STORE", "x:1")).store, "x:1");
}

void kubeflow(void **) {
    Variables pod{{"RANK", "1"},
                  {"WORLD_SIZE", "2"},
                  {"MASTER_ADDR", "job-master-0"},
                  {"MASTER_PORT", "23456"},
                  {"KUBERNETES_PORT", "tcp"}};
    assert_found(found(pod), "kubeflow", 1, 2, "job-master-0:23456");
    // The master's pod is told "localhost": it has to be reached from outside all the same.
    assert_found(found(with(with(pod, "RANK", "0"), "MASTER_ADDR", "localhost")), "kubeflow", 0, 2, "10.0.0.2:23456");
    Variables trainer{{"PET_NNODES", "2"},       {"PET_NODE_RANK", "1"},   {"PET_NPROC_PER_NODE", "1"},
                      {"PET_MASTER_ADDR", "h0"}, {"PET_MASTER_PORT", "1"}, {"KUBERNETES_PORT", "tcp"}};
    assert_found(found(trainer), "kubeflow", 1, 2, "h0:1");
    assert_says(refused(with(trainer, "PET_NPROC_PER_NODE", "auto")), "PET_NPROC_PER_NODE is \"auto\"");
    assert_text(found(without(pod, "KUBERNETES_PORT")).source, "torch");
}

void horovodrun(void **) {
    Variables one_host{{"HOROVOD_RANK", "1"},
                       {"HOROVOD_SIZE", "2"},
                       {"HOROVOD_LOCAL_RANK", "1"},
                       {"HOROVOD_LOCAL_SIZE", "2"},
                       {"HOROVOD_CROSS_RANK", "0"},
                       {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "10.0.0.9"},
                       {"HOROVOD_GLOO_RENDEZVOUS_PORT", "4242"}};
    Resolved resolved = found(one_host);
    assert_true(resolved.store.starts_with("127.0.0.1:2"));
    assert_found(resolved, "horovod", 1, 2, resolved.store);
    assert_text(found(with(with(one_host, "HOROVOD_RANK", "0"), "HOROVOD_LOCAL_RANK", "0")).store, resolved.store);
    Outcome outcome = refused(with(one_host, "HOROVOD_LOCAL_SIZE", "1"));
    assert_text(outcome.reason, "unusable");
    assert_says(outcome, "pass MDIST_STORE=host:port");
}

void hydra(void **) {
    Variables self{
        {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"PMI_FD", "6"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}};
    Resolved resolved = found(self);
    assert_found(resolved, "pmi", 2, 3, "");
    assert_true(resolved.store_by_pmi);
    assert_text(found(with(self, "MDIST_STORE", "x:1")).store, "x:1");
    assert_false(found(with(self, "MDIST_STORE", "x:1")).store_by_pmi);
    assert_says(refused(without(self, "PMI_FD")), "PMI_FD is not set");
    // srun --mpi=pmi2 speaks another PMI, and sets Slurm's variables as well.
    assert_text(found(with(without(self, "MPI_LOCALRANKID"), "SLURM_STEP_ID", "0")).source, "single");
}

void open_mpi(void **) {
    Variables self{{"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                   {"PMIX_NAMESPACE", "2913796097"},    {"PMIX_RANK", "1"}};
    Resolved resolved = found(self);
    assert_true(resolved.store.starts_with("127.0.0.1:2"));
    assert_found(resolved, "openmpi", 1, 2, resolved.store);
    assert_text(resolved.job, "2913796097");
    assert_text(found(with(self, "OMPI_COMM_WORLD_RANK", "0")).store, resolved.store);
    assert_true(found(with(self, "PMIX_NAMESPACE", "2913796098")).store != resolved.store);
    Outcome outcome = refused(with(self, "OMPI_COMM_WORLD_LOCAL_SIZE", "1"));
    assert_begins(outcome, "cannot use Open MPI (OMPI_COMM_WORLD_RANK, ");
    assert_says(outcome, "run mpirun with -x MDIST_STORE=host:port");
    assert_says(refused(without(self, "PMIX_NAMESPACE")), "-x MDIST_STORE=127.0.0.1:port");
}

const Variables kSlurm{{"SLURM_JOB_ID", "77"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEP_NUM_TASKS", "5"},
                       {"SLURM_PROCID", "4"},
                       {"SLURM_LOCALID", "0"},
                       {"SLURM_NODEID", "2"},
                       {"SLURM_RESTART_COUNT", "1"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2,1(x3)"},
                       {"SLURM_STEP_NODELIST", "rack[01-02]_n[07-08]"}};

void slurm(void **) {
    Resolved resolved = found(kSlurm);
    assert_true(resolved.store.starts_with("rack01_n07:2"));
    assert_found(resolved, "slurm", 4, 5, resolved.store);
    assert_text(resolved.job, "77.0");
    Resolved one_host = found(
        with(with(with(kSlurm, "SLURM_NODEID", "0"), "SLURM_STEP_TASKS_PER_NODE", "5"), "SLURM_STEP_NODELIST", "n1"));
    assert_true(one_host.store.starts_with("127.0.0.1:2"));
    assert_int_equal(resolved.restart, 1);
    assert_int_equal(*resolved.local_rank, 0);
    assert_int_equal(*resolved.local_size, 1);
    assert_true(found(with(kSlurm, "SLURM_STEP_ID", "1")).store != resolved.store);
    assert_says(refused(with(kSlurm, "SLURM_STEP_NODELIST", "n[1-")), "cannot use Slurm: \"n[1-\"");
    assert_says(refused(without(kSlurm, "SLURM_PROCID")), "SLURM_PROCID is not set");
}

void rank_0_of_slurm_serves_where_others_find_it(void **) {
    for (const char *rank : {"0", "1"}) {
        FakeEnvironment environment(with(with(kSlurm, "SLURM_PROCID", rank), "SLURM_NODEID", "0"));
        const std::string named = resolve(environment_config(), environment).store;
        assert_true(named.starts_with("rack01_n07:2"));
        environment.loopback_name = "rack01_n07";
        const std::string served = resolve(environment_config(), environment).store;
        assert_text(served, *rank == '0' ? "10.0.0.2" + named.substr(named.find(':')) : named);
    }
}

// As of Slurm 22.05, where the second component got host1.
void ranks_go_from_component_to_component(void **) {
    const Variables first{{"SLURM_JOB_ID", "4"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_NODEID", "0"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                          {"SLURM_STEP_NODELIST", "host[1,3]"},
                          {"SLURM_HET_SIZE", "2"},
                          {"SLURM_JOB_NODELIST_PACK_GROUP_0", "host3"},
                          {"SLURM_JOB_NODELIST_PACK_GROUP_1", "host[1-2]"}};
    Resolved resolved = found(first);
    assert_true(resolved.store.starts_with("host3:2"));
    assert_int_equal(*resolved.local_size, 1);
    Resolved last = found(with(with(first, "SLURM_NODEID", "1"), "SLURM_PROCID", "2"));
    assert_text(last.store, resolved.store);
    assert_int_equal(*last.local_size, 2);
    assert_true(found(without(first, "SLURM_JOB_NODELIST_PACK_GROUP_1")).store.starts_with("host1:2"));
}

void hosts_that_the_user_deals_out_need_a_store(void **) {
    const Variables dealt = with(kSlurm, "SLURM_DISTRIBUTION", "arbitrary");
    assert_says(refused(dealt), "Slurm does not say on which host rank 0 is; pass MDIST_STORE=host:2");
    assert_text(found(with(dealt, "MDIST_STORE", "h:4400")).store, "h:4400");
}

void a_batch_script_is_no_step(void **) {
    assert_text(found(without(kSlurm, "SLURM_STEP_ID")).source, "single");
    assert_text(found(without(kSlurm, "SLURM_STEP_NUM_TASKS")).source, "single");
    assert_text(found(without(kSlurm, "SLURM_STEP_ID")).passed_over.back(),
                "slurm: SLURM_STEP_ID or SLURM_STEP_NUM_TASKS is not set, so srun did not start this process");
}

void a_derived_port_lies_in_its_range(void **) {
    for (int i = 0; i < 1000; ++i) {
        std::uint32_t port = derived_port(std::to_string(i));
        assert_true(port >= 20000 && port < 30000);
        assert_int_equal(port, derived_port(std::to_string(i)));
    }
}

} // namespace

SUBJECT(cluster_launchers) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(mdist_launch),
        cmocka_unit_test(torchrun),
        cmocka_unit_test(kubeflow),
        cmocka_unit_test(horovodrun),
        cmocka_unit_test(hydra),
        cmocka_unit_test(open_mpi),
        cmocka_unit_test(slurm),
        cmocka_unit_test(rank_0_of_slurm_serves_where_others_find_it),
        cmocka_unit_test(ranks_go_from_component_to_component),
        cmocka_unit_test(hosts_that_the_user_deals_out_need_a_store),
        cmocka_unit_test(a_batch_script_is_no_step),
        cmocka_unit_test(a_derived_port_lies_in_its_range),
    };
    return cmocka_run_group_tests_name("cluster_launchers", tests, nullptr, nullptr);
}
