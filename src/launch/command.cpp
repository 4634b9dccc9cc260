// SPDX-License-Identifier: Apache-2.0
#include "launch/command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace mdist {
namespace {

bool is_set(const Variables &variables, const std::string &name) {
    return std::getenv(name.c_str()) != nullptr ||
           std::any_of(variables.begin(), variables.end(), [&](const auto &entry) { return entry.first == name; });
}

/// Math libraries take all the CPUs each, unless they are told that others are here.
void share_cpus(Variables &variables, const Place &place, uint32_t usable_cpus) {
    if (place.remote) return; // who knows how many that host has
    const std::string threads = std::to_string(std::max(1u, usable_cpus / place.local_size));
    for (const char *name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
        if (!is_set(variables, name)) variables.emplace_back(name, threads);
}

} // namespace

Variables worker_variables(const LaunchOptions &options, const Placement &placement, const Place &place,
                           const Session &session, uint32_t usable_cpus) {
    Variables variables{
        {"MDIST_RANK", std::to_string(place.rank)},
        {"MDIST_SIZE", std::to_string(placement.size)},
        {"MDIST_LOCAL_RANK", std::to_string(place.local_rank)},
        {"MDIST_LOCAL_SIZE", std::to_string(place.local_size)},
        {"MDIST_NODE_RANK", std::to_string(place.node_rank)},
        {"MDIST_NODES", std::to_string(placement.nodes)},
        {"MDIST_STORE", session.store},
        {"MDIST_JOB_ID", session.job},
        {"MDIST_RESTART", std::to_string(session.restart)},
    };
    if (session.launcher_owns) variables.emplace_back("MDIST_STORE_OWNER", "launcher");
    if (!session.secret_file.empty()) variables.emplace_back("MDIST_SECRET_FILE", session.secret_file);
    for (const std::string &entry : options.environment) {
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos || equals == 0) throw UsageError("--env \"" + entry + "\": write NAME=VALUE");
        variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
    share_cpus(variables, place, usable_cpus);
    return variables;
}

std::string quoted_for_shell(const std::string &word) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+./:=@%,") == std::string::npos;
    if (plain) return word;
    std::string quoted = "'";
    for (const char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return quoted + "'";
}

std::vector<std::string> remote_words(const LaunchOptions &options, const Place &place, const Variables &variables,
                                      bool sends_secret) {
    std::ostringstream script;
    script << "cd " << quoted_for_shell(std::filesystem::current_path().string()) << " || exit 126; "
           << "own=$(mktemp -d) || exit 126; exec 3<&0; ";
    if (sends_secret) script << R"(IFS= read -r secret <&3; (umask 077; printf '%s\n' "$secret" >"$own/secret"); )";
    script << R"(tell() { read -r worker <"$own/worker" && kill -s "$1" -- "-$worker"; }; )"
           << R"({ while read -r signal <&3; do tell "$signal"; done; tell TERM; sleep )" << options.grace_s
           << R"(; tell KILL; } >/dev/null 2>&1 & watcher=$!; )"
           // In front, since a shell lets what it runs behind ignore INT and QUIT.
           << R"(setsid sh -c 'echo $$ >"$0"; exec "$@"' "$own/worker" env)";
    for (const auto &[name, value] : variables)
        if (name != "MDIST_SECRET_FILE" || !sends_secret) script << ' ' << quoted_for_shell(name + "=" + value);
    if (sends_secret) script << R"( MDIST_SECRET_FILE="$own/secret")";
    for (const std::string &word : options.program) script << ' ' << quoted_for_shell(word);
    script << R"( </dev/null 3<&-; code=$?; kill "$watcher"; tell KILL 2>/dev/null; rm -rf "$own"; exit "$code")";

    std::vector<std::string> words;
    std::istringstream rsh(options.rsh);
    for (std::string word; rsh >> word;) words.push_back(word);
    if (words.empty()) throw UsageError("--rsh: no program");
    words.push_back(place.host);
    words.push_back("exec sh -c " + quoted_for_shell(script.str()));
    return words;
}

} // namespace mdist
