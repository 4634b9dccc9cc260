// SPDX-License-Identifier: Apache-2.0
// Our own: `mdist launch`, or anyone who sets MDIST_RANK, MDIST_SIZE and MDIST_STORE by hand.
#include "cluster/config_values.h"
#include "cluster/launchers/launcher.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

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

} // namespace mdist
