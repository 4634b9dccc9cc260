// SPDX-License-Identifier: Apache-2.0
// Kubeflow, with one worker per pod: PyTorchJob (RANK is the pod) and Trainer v2 (PET_*, which are torchrun's flags).
// Its TFJob sets TF_CONFIG.
#include "cluster/launchers/launcher.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

void set_store(Found &self, Variables &variables, const std::string &prefix) {
    std::string host = variables.need_text(prefix + "MASTER_ADDR");
    std::uint32_t port = variables.need_count(prefix + "MASTER_PORT");
    self.store = store_address(host, port);
    // The master's own pod may be told "localhost", or a service that leads back to it: it listens on its address.
    if (std::string own = reachable_address(variables.environment()); !own.empty())
        self.own_store = store_address(own, port);
}

Sighting look_trainer(Variables variables) {
    std::string per_pod = variables.text("PET_NPROC_PER_NODE").value_or("1");
    if (per_pod != "1")
        throw Failure(MDIST_ERR_CONFIG,
                      text("PET_NPROC_PER_NODE is ", quoted(per_pod),
                           ", which is for torchrun to start; start the program by torchrun or mdist launch"))
            .reason("unusable");
    Found self;
    self.size = variables.need_count("PET_NNODES");
    self.rank = variables.need_count("PET_NODE_RANK");
    if (self.size > 1) set_store(self, variables, "PET_");
    return found(std::move(self), variables);
}

} // namespace

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

} // namespace mdist
