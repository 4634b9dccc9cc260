// SPDX-License-Identifier: Apache-2.0
#include "launch/dry_run.h"

#include "launch/remote.h"

#include <iostream>

namespace mdist {

void print_dry_run(const LaunchOptions &options, const Job &job, uint32_t usable_cpus) {
    const Placement &placement = job.placement();
    std::cout << "# " << placement.size << " workers on " << placement.nodes << " nodes, " << placement.places.size()
              << " started here; " << usable_cpus << " CPUs are usable on this one\n";
    for (const WorkerStart &start : job.starts()) {
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
