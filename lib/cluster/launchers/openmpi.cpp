// SPDX-License-Identifier: Apache-2.0
// Open MPI's mpirun, which tells nobody where rank 0 is.
#include "cluster/launchers/launcher.h"
#include "util/text.h"

namespace mdist {

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

} // namespace mdist
