// SPDX-License-Identifier: Apache-2.0
// The families of launchers, each with the variables that it sets.
#include "cluster/launcher.h"

#include "cluster/slurm_cluster.h"
#include "cluster/tf_config.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

// The library's own: `mdist launch`, or a user who sets MDIST_RANK, MDIST_SIZE and MDIST_STORE by hand.
Sighting look_mdist(const Environment &environment) {
    Variables variables(environment);
    auto size = variables.count("MDIST_SIZE");
    if (!size && !variables.has("MDIST_RANK")) return absent("MDIST_SIZE is not set");
    Found self;
    self.size = variables.need_count("MDIST_SIZE");
    self.rank = self.size == 1 ? variables.count("MDIST_RANK").value_or(0) : variables.need_count("MDIST_RANK");
    self.local_rank = variables.count("MDIST_LOCAL_RANK");
    self.local_size = variables.count("MDIST_LOCAL_SIZE");
    self.no_store = "MDIST_STORE is not set";
    return found(std::move(self), variables);
}

// Launchers that describe the cluster as TensorFlow expects it, such as Kubeflow's TFJob.
Sighting look_tf_config(const Environment &environment) {
    Variables variables(environment);
    auto json = variables.text("TF_CONFIG");
    if (!json) return absent("TF_CONFIG is not set");
    Found self;
    self.cluster = parse_tf_config(*json, "TF_CONFIG");
    if (self.cluster.empty()) return absent("TF_CONFIG names no cluster");
    read_cluster(self);
    return found(std::move(self), variables);
}

// torchrun, Ray Train, and loops over ssh that set the same variables by hand.
Sighting look_torch(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("RANK") && !environment.get("WORLD_SIZE")) return absent("RANK and WORLD_SIZE are not set");
    // A pod of PyTorchJob has these as well, and there RANK counts pods. torchrun in such a pod also sets the local
    // ones.
    if (environment.get("KUBERNETES_PORT") && !environment.get("LOCAL_RANK") && !environment.get("GROUP_RANK"))
        return absent("RANK is the number of a Kubeflow pod: LOCAL_RANK and GROUP_RANK are not set");
    Found self;
    self.rank = variables.need_count("RANK");
    self.size = variables.need_count("WORLD_SIZE");
    self.local_rank = variables.count("LOCAL_RANK");
    self.local_size = variables.count("LOCAL_WORLD_SIZE");
    self.job = variables.text("TORCHELASTIC_RUN_ID").value_or("");
    self.restart = variables.count("TORCHELASTIC_RESTART_COUNT").value_or(0);
    auto host = variables.text("MASTER_ADDR");
    auto port = variables.count("MASTER_PORT");
    if (host && port) {
        // If torchrun's agent listens on MASTER_PORT itself, the store is on the next port.
        bool agent_listens = variables.text("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
        self.store = store_address(*host, *port + (agent_listens ? 1 : 0));
    } else {
        self.no_store = host ? "MASTER_PORT is not set" : "MASTER_ADDR is not set";
    }
    return found(std::move(self), variables);
}

// Kubeflow, with one worker per pod: PyTorchJob (RANK is the number of the pod) and Trainer v2 (PET_*, torchrun's
// flags). Kubeflow's TFJob sets TF_CONFIG instead.
void set_store(Found &self, Variables &variables, const std::string &prefix) {
    std::string host = variables.need_text(prefix + "MASTER_ADDR");
    std::uint32_t port = variables.need_count(prefix + "MASTER_PORT");
    self.store = store_address(host, port);
    // The master's own pod may be told "localhost", or a service that leads back to it. So it binds its own address.
    if (std::string own = reachable_address(variables.environment()); !own.empty())
        self.own_store = store_address(own, port);
}

Sighting look_trainer(Variables variables) {
    std::string per_pod = variables.text("PET_NPROC_PER_NODE").value_or("1");
    if (per_pod != "1")
        throw Failure(MDIST_ERR_CONFIG,
                      text("PET_NPROC_PER_NODE is ", in_quotes(per_pod),
                           ", so torchrun must start the workers. Start the program with torchrun or mdist launch"))
            .reason("unusable");
    Found self;
    self.size = variables.need_count("PET_NNODES");
    self.rank = variables.need_count("PET_NODE_RANK");
    if (self.size > 1) set_store(self, variables, "PET_");
    return found(std::move(self), variables);
}

Sighting look_kubeflow(const Environment &environment) {
    Variables variables(environment);
    bool has_rank = environment.get("RANK") && environment.get("WORLD_SIZE");
    if (!environment.get("KUBERNETES_PORT")) return absent("KUBERNETES_PORT is not set");
    if (environment.get("LOCAL_RANK") || environment.get("GROUP_RANK"))
        return absent("LOCAL_RANK or GROUP_RANK is set, as torchrun does within a pod");
    if (!has_rank && environment.get("PET_NNODES")) return look_trainer(variables);
    if (!environment.get("RANK") && !environment.get("WORLD_SIZE")) return absent("RANK and WORLD_SIZE are not set");
    Found self;
    self.rank = variables.need_count("RANK");
    self.size = variables.need_count("WORLD_SIZE");
    if (self.size > 1) set_store(self, variables, "");
    return found(std::move(self), variables);
}

// horovodrun. Its rendezvous address is no help: the server belongs to the launcher, which need not run on the host of
// rank 0, and the port is taken.
Sighting look_horovod(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("HOROVOD_RANK") && !environment.get("HOROVOD_SIZE")) return absent("HOROVOD_RANK is not set");
    Found self;
    self.rank = variables.need_count("HOROVOD_RANK");
    self.size = variables.need_count("HOROVOD_SIZE");
    self.local_rank = variables.count("HOROVOD_LOCAL_RANK");
    self.local_size = variables.count("HOROVOD_LOCAL_SIZE");
    auto port = variables.text("HOROVOD_GLOO_RENDEZVOUS_PORT");
    if (self.local_size == self.size && port)
        self.store = store_address("127.0.0.1", derived_port(text("horovod ", *port)));
    else
        self.no_store =
            "horovodrun does not say on which host rank 0 is; pass MDIST_STORE=host:port to all workers, "
            "with the host of rank 0";
    return found(std::move(self), variables);
}

// Hydra, which starts the workers of MPICH, Intel MPI and MVAPICH. Rank 0 tells the others through PMI_FD where the
// store is (settle_store.h).
Sighting look_pmi(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("PMI_RANK")) return absent("PMI_RANK is not set");
    if (!environment.get("MPI_LOCALRANKID") && environment.get("SLURM_STEP_ID"))
        return absent("PMI_RANK is Slurm's own here: MPI_LOCALRANKID is not set");
    Found self;
    self.rank = variables.need_count("PMI_RANK");
    self.size = variables.need_count("PMI_SIZE");
    self.local_rank = variables.count("MPI_LOCALRANKID");
    self.local_size = variables.count("MPI_LOCALNRANKS");
    self.store_by_pmi = self.size > 1 && variables.count("PMI_FD").has_value();
    if (!self.store_by_pmi) self.no_store = "PMI_FD is not set; pass MDIST_STORE=host:port, with the host of rank 0";
    return found(std::move(self), variables);
}

// Open MPI's mpirun, which does not tell the workers where rank 0 is.
Sighting look_openmpi(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("OMPI_COMM_WORLD_RANK") && !environment.get("OMPI_COMM_WORLD_SIZE"))
        return absent("OMPI_COMM_WORLD_RANK is not set");
    Found self;
    self.rank = variables.need_count("OMPI_COMM_WORLD_RANK");
    self.size = variables.need_count("OMPI_COMM_WORLD_SIZE");
    self.local_rank = variables.count("OMPI_COMM_WORLD_LOCAL_RANK");
    self.local_size = variables.count("OMPI_COMM_WORLD_LOCAL_SIZE");
    auto name = variables.text("PMIX_NAMESPACE");
    self.job = name.value_or("");
    if (self.local_size != self.size)
        self.no_store =
            "mpirun does not say on which host rank 0 is; run mpirun with -x MDIST_STORE=host:port, with "
            "that host";
    else if (!name)
        self.no_store = "PMIX_NAMESPACE is not set; run mpirun with -x MDIST_STORE=127.0.0.1:port";
    else
        self.store = store_address("127.0.0.1", derived_port(*name));
    return found(std::move(self), variables);
}

// Slurm's srun. Only the variables of a step count: a batch script, which is one process, has SLURM_PROCID and
// SLURM_NTASKS too.
Sighting look_slurm(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("SLURM_STEP_ID") || !environment.get("SLURM_STEP_NUM_TASKS"))
        return absent(environment.get("SLURM_JOB_ID")
                          ? "SLURM_STEP_ID or SLURM_STEP_NUM_TASKS is not set, so srun did not start this process"
                          : "SLURM_STEP_ID is not set");
    Found self;
    self.rank = variables.need_count("SLURM_PROCID");
    self.size = variables.need_count("SLURM_STEP_NUM_TASKS");
    self.local_rank = variables.count("SLURM_LOCALID");
    self.job = text(variables.need_text("SLURM_JOB_ID"), '.', variables.need_text("SLURM_STEP_ID"));
    self.restart = variables.count("SLURM_RESTART_COUNT").value_or(0);
    if (self.size == 1) {
        self.local_size = 1;
        return found(std::move(self), variables);
    }
    auto hosts = slurm_hosts(variables);
    if (auto node = variables.count("SLURM_NODEID"); node && *node < hosts.size() && hosts[*node].tasks != 0)
        self.local_size = hosts[*node].tasks;
    bool one_host = self.local_size == self.size;
    std::uint32_t port = derived_port(text("slurm ", self.job));
    if (!one_host && is_dealt_by_user(variables)) {
        self.no_store = text("SLURM_DISTRIBUTION is arbitrary, so Slurm does not say on which host rank 0 is; pass ",
                             "MDIST_STORE=host:", port, " to all workers, with that host");
        return found(std::move(self), variables);
    }
    const std::string &first = hosts.front().name;
    self.store = store_address(one_host ? "127.0.0.1" : first, port);
    // To others the name of rank 0's host is an address of it. To the host itself it may be 127.0.1.1.
    if (self.rank == 0 && !one_host && environment.means_loopback(first))
        if (std::string own = reachable_address(environment); !own.empty()) self.own_store = store_address(own, port);
    return found(std::move(self), variables);
}

constexpr Launcher kLaunchers[] = {
    {"env", "MDIST_RANK and related variables", look_mdist},
    {"tf_config", "TF_CONFIG", look_tf_config},
    {"torch", "torchrun", look_torch},
    {"kubeflow", "Kubeflow", look_kubeflow},
    {"horovod", "horovodrun", look_horovod},
    {"pmi", "Hydra (MPICH, Intel MPI)", look_pmi},
    {"openmpi", "Open MPI", look_openmpi},
    {"slurm", "Slurm", look_slurm},
};

} // namespace

std::span<const Launcher> launchers() {
    return kLaunchers;
}

} // namespace mdist
