// SPDX-License-Identifier: Apache-2.0
#include "cluster/tf_config.h"

#include "cluster/launchers/launcher.h"
#include "util/failure.h"

namespace mdist {

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

} // namespace mdist
