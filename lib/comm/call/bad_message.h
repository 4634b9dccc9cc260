// SPDX-License-Identifier: Apache-2.0
// Failures for messages that no worker would send at that point. Their status is never INTERNAL: this worker's library
// is not to blame for bytes that came from outside.
#pragma once

#include "util/failure.h"
#include "util/text.h"

#include <string_view>

namespace mdist {

/// DATA_LOSS: "worker 1 sent `what`. Run the same libmdist ...".
inline Failure bad_message(uint32_t worker, std::string_view what) {
    return Failure(MDIST_ERR_DATA_LOSS, text("worker ", worker, " sent ", what,
                                             ". Run the same libmdist on all workers. If they do, set "
                                             "communication.checksum to crc32c, which tells "
                                             "whether bytes change on the way, and where"))
        .worker(worker)
        .reason("bad_message");
}

/// DATA_LOSS for a message that is not the one that is due.
inline Failure other_message(uint32_t worker, uint64_t bytes, uint64_t tag, uint64_t bytes_due, uint64_t tag_due) {
    return bad_message(worker, text("a message of ", bytes, " bytes with tag ", tag, " instead of one of ", bytes_due,
                                    " bytes with tag ", tag_due));
}

} // namespace mdist
