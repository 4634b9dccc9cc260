// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/release.h"

#include "comm/local/group.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void release_callback(Group &group, const char *operation, uint32_t replica, int64_t native,
                      FunctionRef<std::string()> sentence) noexcept {
    group.release(failure_or(out_of_memory().replica(replica), [&] {
        return Failure(MDIST_ERR_CALLBACK, sentence()).operation(operation).replica(replica).native(native);
    }));
}

void release_failure(Group &group, const char *operation, uint32_t replica, const Failure &failure) noexcept {
    Failure cause = failure;
    if (cause.operation().empty()) std::move(cause).operation(operation);
    if (cause.replica() == MDIST_NONE) std::move(cause).replica(replica);
    group.release(cause);
}

void release_ended(Group &group, uint32_t replica) noexcept {
    release_callback(group, "mdist_run", replica, 0,
                     [replica] { return text("the step of replica ", replica, " ended its thread"); });
}

} // namespace mdist
