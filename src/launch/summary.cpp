// SPDX-License-Identifier: Apache-2.0
#include "launch/summary.h"

#include "counted.h"

#include <algorithm>
#include <cstdio>

namespace mdist {
namespace {

constexpr std::size_t kMostRanksQuoted = 4;

std::string remark(const Outcome &outcome, const Worker &worker) {
    if (&worker == outcome.first_failure) return "  <- first failure";
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

std::string quoted_lines(const Worker &worker) {
    const auto &lines = worker.errors().last_lines();
    if (lines.empty()) return "";
    std::string text = "  last lines of rank " + std::to_string(worker.place().rank) + " on stderr:\n";
    for (const std::string &line : lines) text += "    " + line + "\n";
    return text;
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
    std::size_t quoted = 0;
    for (const Worker *worker : failed)
        if (worker->told() == 0 && quoted++ < kMostRanksQuoted) text += quoted_lines(*worker);
    return text;
}

} // namespace mdist
