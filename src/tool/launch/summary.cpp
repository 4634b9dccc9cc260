// SPDX-License-Identifier: Apache-2.0
#include "launch/summary.h"

#include "counted.h"

#include <algorithm>
#include <cstdio>

namespace mdist {
namespace {

constexpr std::size_t kMostQuoted = 4;

std::string remark(const Outcome &outcome, const Worker &worker) {
    if (&worker == outcome.first_failure)
        return outcome.first_ended == nullptr ? "  <- first failure" : "  <- first failure: it was stopped";
    if (worker.told() != 0) return "  (after the launcher's " + signal_name(worker.told()) + ")";
    return "";
}

std::string row(const Outcome &outcome, const Worker &worker) {
    char text[512];
    std::snprintf(text, sizeof text, "  %5u  %-15s  %8d  %8.1f  %s%s\n", worker.place().rank,
                  worker.place().host.c_str(), static_cast<int>(worker.pid()), worker.seconds_run(),
                  worker.how().c_str(), remark(outcome, worker).c_str());
    return text;
}

/// "0-2,5"
std::string ranks_text(std::vector<uint32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    std::string text;
    for (std::size_t at = 0, first = 0; at < ranks.size(); ++at) {
        if (at + 1 < ranks.size() && ranks[at + 1] <= ranks[at] + 1) continue;
        text += (text.empty() ? "" : ",") + std::to_string(ranks[first]);
        if (ranks[at] != ranks[first]) text += "-" + std::to_string(ranks[at]);
        first = at + 1;
    }
    return text;
}

/// The last lines that these workers wrote, each text once.
std::string quoted_lines(const std::vector<const Worker *> &workers) {
    std::vector<std::pair<std::string, std::vector<uint32_t>>> texts; // and the ranks that wrote it
    for (const Worker *worker : workers) {
        std::string text;
        for (const std::string &line : worker->errors().last_lines()) text += "    " + line + "\n";
        const auto same = std::find_if(texts.begin(), texts.end(), [&](const auto &one) { return one.first == text; });
        if (same != texts.end())
            same->second.push_back(worker->place().rank);
        else if (!text.empty() && texts.size() < kMostQuoted)
            texts.push_back({text, {worker->place().rank}});
    }
    std::string all;
    for (const auto &[text, ranks] : texts) {
        all += (ranks.size() == 1 ? "  last lines of rank " : "  last lines of each of ranks ") + ranks_text(ranks) +
               " on stderr:\n" + text;
    }
    return all;
}

} // namespace

std::string summary_of(const Outcome &outcome, const std::vector<std::unique_ptr<Worker>> &workers) {
    if (outcome.exit_code() == 0) return "";
    std::vector<const Worker *> failed;
    for (const auto &worker : workers)
        if (!worker->ended_well()) failed.push_back(worker.get());
    std::string text = "mdist: " + std::to_string(failed.size()) + " of " + counted(workers.size(), "worker") +
                       " failed" + (failed.size() < workers.size() ? "; the others ended with 0\n" : "\n");
    if (failed.empty()) return text;
    text += "   rank  host                  pid   seconds  how it ended\n";
    for (const Worker *worker : failed) text += row(outcome, *worker);
    // The first failure explains the most. Workers ended from outside explain nothing.
    std::stable_partition(failed.begin(), failed.end(),
                          [&](const Worker *worker) { return worker == outcome.first_failure; });
    std::erase_if(failed, [](const Worker *worker) { return worker->told() != 0; });
    return text + quoted_lines(failed);
}

} // namespace mdist
