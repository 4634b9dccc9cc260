// SPDX-License-Identifier: Apache-2.0
#include "comm/mail/waits.h"

#include "util/payload.h"
#include "util/text.h"

namespace mdist {

std::string Waits::Wait::text() const {
    return mdist::text("waits to ", sends ? "send to " : "receive from ", other(), " (tag ", key.tag, ")");
}

const Waits::Wait *Waits::of(uint32_t replica) const {
    const auto found = waits_.find(replica);
    return found == waits_.end() ? nullptr : &found->second;
}

std::string Waits::encode(const Wait &wait, bool over) {
    return PayloadWriter()(over, wait).take();
}

std::optional<Waits::Told> Waits::decode(const std::string &notice) {
    Told told;
    return PayloadReader(notice)(told.over, told.wait).complete() ? std::optional(told) : std::nullopt;
}

} // namespace mdist
