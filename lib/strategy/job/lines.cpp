// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/lines.h"

#include "comm/call/bad_message.h"
#include "util/payload.h"

namespace mdist {

std::vector<std::vector<std::string>> gather_lines(Workers &workers, const Call &call,
                                                   const std::vector<std::string> &own, uint64_t timeout_ns) {
    PayloadWriter out;
    out.number(static_cast<uint32_t>(own.size()));
    for (const std::string &line : own) out.text(line);
    std::vector<std::vector<std::string>> all;
    for (const std::string &blob : workers.gather(call, out.take(), timeout_ns)) {
        PayloadReader in(blob);
        std::vector<std::string> &lines = all.emplace_back();
        for (auto count = in.number<uint32_t>(); count > 0 && !in.bad(); --count) lines.push_back(in.text());
        if (!in.complete())
            throw bad_message(static_cast<uint32_t>(all.size() - 1), "bytes that are not a valid list of lines");
    }
    return all;
}

} // namespace mdist
