// SPDX-License-Identifier: Apache-2.0
// horovodrun. Its rendezvous server is the launcher's, which need not be on the host of rank 0, and it is taken.
#include "cluster/launchers/launcher.h"
#include "util/text.h"

namespace mdist {

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

} // namespace mdist
