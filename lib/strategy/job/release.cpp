// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/release.h"

#include "comm/local/group.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void release_callback(Group &group, const char *operation, uint32_t replica, int64_t native,
                      FunctionRef<std::string()> sentence) noexcept {
    const auto id = static_cast<int32_t>(replica);
    try {
        group.release(Failure(MDIST_ERR_CALLBACK, sentence()).operation(operation).replica(id).native(native));
    } catch (...) {
        group.release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory").replica(id));
    }
}

void release_failure(Group &group, const char *operation, uint32_t replica, const Failure &failure) noexcept {
    const auto id = static_cast<int32_t>(replica);
    try {
        Failure cause = failure;
        if (cause.operation().empty()) std::move(cause).operation(operation);
        if (cause.replica() < 0) std::move(cause).replica(id);
        group.release(cause);
    } catch (...) {
        group.release(Failure(failure.status(), "out of memory").replica(id));
    }
}

void release_ended(Group &group, uint32_t replica) noexcept {
    release_callback(group, "mdist_run", replica, 0,
                     [replica] { return text("the step of replica ", replica, " ended its thread"); });
}

} // namespace mdist
