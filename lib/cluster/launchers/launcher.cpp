// SPDX-License-Identifier: Apache-2.0
#include "cluster/launchers/launcher.h"

#include "cluster/config_values.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

namespace {

constexpr Launcher kLaunchers[] = {
    {"env", "MDIST_RANK and its like", look_mdist},
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

void read_cluster(Found &found) {
    Task task = *found.cluster.task();
    if (task.type == TaskType::kPs) return;
    auto members = found.cluster.members();
    found.size = found.cluster.worker_count(task.type);
    found.rank = found.cluster.id_in_cluster(task);
    if (task.type != TaskType::kEvaluator) found.store = found.cluster.address(members.front());
}

Sighting absent(std::string why) {
    return {std::nullopt, std::move(why)};
}

Sighting found(Found found, const Variables &variables) {
    found.variables = variables.names();
    auto refuse = [&](std::string_view why) {
        throw Failure(MDIST_ERR_CONFIG, text(found.variables, ": ", why)).reason("unusable");
    };
    if (found.size == 0) refuse("a job of 0 workers is none");
    if (found.rank >= found.size)
        refuse(text("rank ", found.rank, " is not within 0 to ", found.size - 1, ", the ranks of ", found.size,
                    " workers"));
    return {std::move(found), ""};
}

std::string store_address(const std::string &host, std::uint32_t port) {
    bool is_bare_ipv6 = host.find(':') != host.npos && host.front() != '[';
    std::string address = is_bare_ipv6 ? text('[', host, "]:", port) : text(host, ':', port);
    try {
        check_address(address);
    } catch (const Failure &failure) {
        throw Failure(MDIST_ERR_CONFIG, failure.message()).reason("unusable");
    }
    return address;
}

std::uint32_t derived_port(std::string_view job) {
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (unsigned char byte : job) hash = (hash ^ byte) * 0x100000001b3;
    return 20000 + static_cast<std::uint32_t>(hash % 10000);
}

} // namespace mdist
