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
    PayloadWriter out;
    out.number(static_cast<uint8_t>(over)).number(static_cast<uint8_t>(wait.sends));
    out.number(wait.key.from).number(wait.key.to).number(wait.key.tag).number(wait.key.run);
    return out.take();
}

std::optional<Waits::Told> Waits::decode(const std::string &notice) {
    PayloadReader in(notice);
    Told told;
    told.over = in.number<uint8_t>() != 0;
    told.wait.sends = in.number<uint8_t>() != 0;
    told.wait.key.from = in.number<uint32_t>();
    told.wait.key.to = in.number<uint32_t>();
    told.wait.key.tag = in.number<uint64_t>();
    told.wait.key.run = in.number<uint64_t>();
    if (!in.complete()) return std::nullopt;
    return told;
}

} // namespace mdist
