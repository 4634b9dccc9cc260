// SPDX-License-Identifier: Apache-2.0
#include "util/system_random.h"

#include <cerrno>
#include <cstring>

#include <sys/random.h>

#include "util/failure.h"
#include "util/text.h"

namespace mdist {

void system_random(void *bytes, std::size_t count) {
    auto *at = static_cast<unsigned char *>(bytes);
    while (count > 0) {
        const ssize_t got = getrandom(at, count, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw Failure(MDIST_ERR_RESOURCE, text("cannot get random numbers from the system: ", std::strerror(errno)))
                .native(errno);
        at += got;
        count -= static_cast<std::size_t>(got);
    }
}

} // namespace mdist
