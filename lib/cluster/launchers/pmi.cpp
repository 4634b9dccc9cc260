// SPDX-License-Identifier: Apache-2.0
// Hydra, which starts the workers of MPICH, Intel MPI and MVAPICH. Rank 0 tells the others where the store is through
// PMI_FD (settle_store.h).
#include "cluster/launchers/launcher.h"
#include "util/text.h"

namespace mdist {

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

} // namespace mdist
