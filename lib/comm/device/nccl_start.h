// SPDX-License-Identifier: Apache-2.0
// Starting NCCL. All workers of a job say whether they can, then meet in NCCL, then say whether they did. So either all
// of them use NCCL or none does.
#pragma once

#include "comm/device/nccl.h"

#include <string>

namespace mdist {

/// Makes the job's communicators, together with its other workers if there are any. Returns nullptr if NCCL cannot be
/// used; `obstacle` then says why, as a sentence. The workers compare their calls by `kind`. Throws what ended the job
/// meanwhile.
std::unique_ptr<Nccl> start_nccl(CallKind kind, Group &group, Workers *workers, Lanes &lanes, uint64_t timeout_ns,
                                 std::string &obstacle);

} // namespace mdist
