// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/party.h"

#include "util/text.h"

#include <utility>

namespace mdist {

void Party::await_turn(const char *function) {
    require_concurrent(function);
    job_.operations().await_turn(local_index_);
}

void Party::finish_device() const {
    try {
        device().finish();
    } catch (Failure &failure) {
        throw std::move(failure).about(text("replica ", id_)).replica(id_);
    }
}

} // namespace mdist
