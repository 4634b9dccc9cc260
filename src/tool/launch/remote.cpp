// SPDX-License-Identifier: Apache-2.0
#include "launch/remote.h"

#include <filesystem>
#include <sstream>

namespace mdist {
namespace {

/// Takes the folder, the grace, "secret" or "", then NAME=VALUE words, then the program with its arguments. The worker
/// runs in the foreground, since a shell makes background processes ignore INT and QUIT.
constexpr const char *kScript = R"(cd "$1" || exit 126
grace=$2 secret=$3
shift 3
own=$(mktemp -d "${TMPDIR:-/tmp}/mdist-XXXXXX") || exit 126
exec 3<&0
trap : HUP INT TERM PIPE
if [ "$secret" ]; then
    IFS= read -r secret <&3
    (umask 077; printf "%s\n" "$secret" >"$own/secret")
    set -- MDIST_SECRET_FILE="$own/secret" "$@"
fi
tell() { read -r worker <"$own/worker" && kill -s "$1" -- "-$worker"; }
{
    while read -r signal <&3; do tell "$signal"; done
    tell TERM; tell CONT; sleep "$grace"; tell KILL
    rm -rf "$own"
} >/dev/null 2>&1 & watcher=$!
setsid sh -c "echo \$\$ >\"\$0\"; exec \"\$@\"" "$own/worker" env "$@" </dev/null 3<&-
code=$?
kill "$watcher"
tell KILL 2>/dev/null
rm -rf "$own"
exit "$code")";

std::vector<std::string> split_words(const std::string &text) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

} // namespace

std::string quoted_for_shell(const std::string &word) {
    constexpr const char *kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
    std::string quoted = "'";
    for (const char letter : word) {
        if (letter == '\'') {
            quoted += "'\\''";
        } else {
            quoted += letter;
        }
    }
    return quoted.append("'");
}

std::vector<std::string> remote_words(const LaunchOptions &options, const Place &place, const Variables &variables,
                                      bool sends_secret) {
    std::ostringstream grace;
    grace << options.grace_s;
    std::vector<std::string> script{"exec",      "sh",
                                    "-c",        kScript,
                                    "mdist",     std::filesystem::current_path().string(),
                                    grace.str(), sends_secret ? "secret" : ""};
    for (const auto &[name, value] : variables)
        if (name != "MDIST_SECRET_FILE" || !sends_secret) script.push_back(name + "=" + value);
    script.insert(script.end(), options.program.begin(), options.program.end());

    std::vector<std::string> words = split_words(options.rsh);
    if (words.empty()) throw UsageError("--rsh names no program");
    words.push_back(place.host);
    std::string &line = words.emplace_back();
    for (const std::string &word : script) line.append(quoted_for_shell(word)).append(" ");
    line.pop_back();
    return words;
}

} // namespace mdist
