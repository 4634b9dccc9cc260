// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/lines.h"

#include "comm/call/bad_message.h"
#include "util/payload.h"

namespace mdist {

std::vector<std::vector<std::string>> gather_lines(Workers &workers, const Call &call,
                                                   const std::vector<std::string> &own, uint64_t timeout_ns) {
    const std::string mine = PayloadWriter()(limited(own, UINT32_MAX)).take();
    std::vector<std::vector<std::string>> all;
    for (const std::string &blob : workers.gather(call, mine, timeout_ns))
        if (!PayloadReader(blob)(limited(all.emplace_back(), UINT32_MAX)).complete())
            throw bad_message(static_cast<uint32_t>(all.size() - 1), "bytes that are not a valid list of lines");
    return all;
}

} // namespace mdist
