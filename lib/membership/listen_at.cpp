// SPDX-License-Identifier: Apache-2.0
#include "membership/listen_at.h"

#include <cerrno>

#include <unistd.h>

#include "util/text.h"

namespace mdist {

uint16_t ListenAt::port(uint32_t n) const {
    if (any_port()) return 0;
    return static_cast<uint16_t>(first_port + (static_cast<uint32_t>(getpid()) + n) % port_count());
}

Failure no_free_port(const ListenAt &settings, const Endpoint &at) {
    const uint32_t count = settings.port_count();
    return Failure(MDIST_ERR_RESOURCE,
                   text("cannot listen at ", at.host, ": no port of communication.ports, ", settings.first_port, "-",
                        settings.last_port, ", is free; ", count, count == 1 ? " was" : " were",
                        " tried. Each worker of a host needs one; name more ports"))
        .reason("address_in_use")
        .native(EADDRINUSE);
}

} // namespace mdist
