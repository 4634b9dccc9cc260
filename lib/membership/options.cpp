// SPDX-License-Identifier: Apache-2.0
#include "membership/options.h"

#include "util/text.h"

namespace mdist {

std::string worker_name(const MembershipOptions &options, const std::vector<Endpoint> &roster, uint32_t rank) {
    if (rank < options.names.size()) return options.names[rank];
    if (rank < roster.size()) return text("worker ", rank, " (", text_of(roster[rank]), ')');
    return text("worker ", rank);
}

std::string seconds_text(uint64_t ns) {
    const uint64_t tenths = ns / 100'000'000;
    return tenths % 10 == 0 ? text(tenths / 10, " s") : text(tenths / 10, '.', tenths % 10, " s");
}

} // namespace mdist
