// SPDX-License-Identifier: Apache-2.0
#include "launch/dry_run.h"

#include "counted.h"
#include "launch/remote.h"

#include <iostream>

namespace mdist {

void print_dry_run(const LaunchOptions &options, const Job &job, uint32_t usable_cpus) {
    const Placement &placement = job.placement();
    std::cout << "# " << counted(placement.size, "worker") << " on " << counted(placement.nodes, "node") << ", "
              << placement.places.size() << " started here; " << counted(usable_cpus, "usable CPU") << " on this one\n";
    if (job.session().store.ends_with(":0"))
        std::cout << "# MDIST_STORE gets its port, and for other hosts its address, when the job starts\n";
    for (const WorkerStart &start : job.starts(placement.places)) {
        std::cout << "# rank " << start.place.rank << " on " << start.place.host << "\n";
        std::string line;
        if (!start.place.remote)
            for (const auto &[name, value] :
                 worker_variables(options, placement, start.place, job.session(), usable_cpus))
                line += name + "=" + quoted_for_shell(value) + " ";
        for (const std::string &word : start.words) line += quoted_for_shell(word) + " ";
        line.pop_back();
        std::cout << line << "\n";
    }
}

} // namespace mdist
