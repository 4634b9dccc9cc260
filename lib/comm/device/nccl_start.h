// SPDX-License-Identifier: Apache-2.0
// Starting NCCL: all workers of a job say whether they can, then meet in it, then say whether they have. So all of them
// use it or none does.
#pragma once

#include "comm/device/nccl.h"

#include <string>

namespace mdist {

/// Makes the job's communicators, together with its other workers. nullptr where NCCL cannot be used; `obstacle` says
/// why then, as a sentence. Throws what ended the job meanwhile.
std::unique_ptr<Nccl> start_nccl(Group &group, GpuGroup &gpus, uint64_t timeout_ns, std::string &obstacle);

} // namespace mdist
