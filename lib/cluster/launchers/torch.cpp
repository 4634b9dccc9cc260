// SPDX-License-Identifier: Apache-2.0
// torchrun, Ray Train, and loops over ssh that set the same variables by hand.
#include "cluster/launchers/launcher.h"
#include "util/text.h"

namespace mdist {

Sighting look_torch(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("RANK") && !environment.get("WORLD_SIZE")) return absent("RANK and WORLD_SIZE are not set");
    // A pod of PyTorchJob has these as well, with the pod for a worker; torchrun in such a pod sets what is local, too.
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
        // torchrun's agent listens on MASTER_PORT itself then, so the store is on the next one.
        bool agent_listens = variables.text("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
        self.store = store_address(*host, *port + (agent_listens ? 1 : 0));
    } else {
        self.no_store = host ? "MASTER_PORT is not set" : "MASTER_ADDR is not set";
    }
    return found(std::move(self), variables);
}

} // namespace mdist
