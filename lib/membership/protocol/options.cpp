// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/options.h"

#include "util/text.h"

#include <mdist/base.h>

namespace mdist {

std::string worker_name(const MembershipOptions &options, const Roster &roster, uint32_t rank) {
    std::string name = rank < options.names.size() ? options.names[rank] : text("worker ", rank);
    const auto known = roster.find(rank);
    if (!known) return name;
    const Endpoint &listens = *known;
    std::string details =
        name.ends_with(')') ? "" : text(" (", options.names.empty() ? text_of(listens) : listens.host);
    if (details.empty()) name.pop_back(); // an address of its own is in there
    if (listens.pid != 0) details += text(", pid ", listens.pid);
    if (listens.started_as != MDIST_NONE && listens.started_as != rank)
        details += text(", started as rank ", listens.started_as);
    return text(name, details, ')');
}

std::string seconds_text(uint64_t ns) {
    const uint64_t tenths = ns / 100'000'000;
    return tenths % 10 == 0 ? text(tenths / 10, " s") : text(tenths / 10, '.', tenths % 10, " s");
}

} // namespace mdist
