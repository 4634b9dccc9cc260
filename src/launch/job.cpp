// SPDX-License-Identifier: Apache-2.0
#include "launch/job.h"

#include "launch/reachable.h"
#include "launch/remote.h"
#include "network.h"

#include <mdist/mdist.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <unistd.h>

namespace mdist {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr const char *kSecretInTheMaking = "made at the start";

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// The launcher's own environment with `variables` over it; nothing is left of a launcher further out.
std::vector<std::string> environment_with(const Variables &variables) {
    std::map<std::string, std::string> all;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string line = *entry;
        all[line.substr(0, line.find('='))] = line;
    }
    all.erase("MDIST_SECRET_FILE");
    for (const auto &[name, value] : variables) all[name] = name + "=" + value;
    std::vector<std::string> lines;
    for (auto &[name, line] : all) lines.push_back(std::move(line));
    return lines;
}

std::string job_name(const LaunchOptions &options) {
    if (!options.job.empty()) return options.job;
    // Launchers that know of each other by the store alone have to come to the same name.
    if (options.nodes > 1) return "mdist-" + options.store;
    return "mdist-" + random_hex(4);
}

void check_store(const LaunchOptions &options) {
    if (options.store.empty()) {
        if (options.nodes == 1) return;
        throw UsageError("--nodes: say with --store HOST:PORT where the launcher of node 0 is to be reached");
    }
    try {
        if (split_address(options.store).port == "0" && options.nodes > 1)
            throw UsageError("--store " + options.store + ": the launchers of other nodes have to know the port");
    } catch (const BadAddress &problem) {
        throw UsageError("--store: " + std::string(problem.what()));
    }
}

} // namespace

Job::Job(const LaunchOptions &options, const Placement &placement, uint32_t usable_cpus)
    : options_(options), placement_(placement), usable_cpus_(usable_cpus) {
    check_store(options);
    session_.job = job_name(options);
    session_.store = options.store.empty() ? own_address_for(placement) + ":0" : options.store;
    if (options.no_secret) return;
    session_.secret_file = options.secret_file.empty() ? variable("MDIST_SECRET_FILE") : options.secret_file;
    // Launchers of several nodes cannot make one together.
    if (session_.secret_file.empty() && options.nodes == 1 && mdist_has("secret") != 0)
        session_.secret_file = kSecretInTheMaking;
}

void Job::open() {
    if (session_.secret_file == kSecretInTheMaking) {
        session_.secret = random_hex(kSecretBytes);
        session_.secret_file = own_secret_.emplace(session_.secret).path();
    } else if (!session_.secret_file.empty()) {
        session_.secret = read_secret(session_.secret_file);
    }
    if (!options_.log_dir.empty()) std::filesystem::create_directories(options_.log_dir);
    if (options_.node_rank != 0) return;
    store_.emplace(JobStoreOptions{session_.store, placement_.size, session_.job, session_.secret});
    session_.store = store_->address();
}

void Job::begin(uint32_t restart) {
    session_.restart = restart;
    if (restart != 0 && store_) store_->restart(restart);
}

WorkerStart Job::start_of(const Place &place) const {
    const Variables variables = worker_variables(options_, placement_, place, session_, usable_cpus_);
    WorkerStart start;
    start.place = place;
    start.words = place.remote ? remote_words(options_, place, variables, sends_secret(place)) : options_.program;
    start.environment = environment_with(place.remote ? Variables{} : variables);
    // A terminal is not for processes behind others: reading from it would stop them.
    const bool reads = place.rank == 0 && !options_.no_input && isatty(STDIN_FILENO) == 0;
    start.input = place.remote ? Input::kPipe : reads ? Input::kInherited : Input::kNone;
    if (sends_secret(place)) start.greeting = session_.secret + "\n";
    if (options_.log_dir.empty()) return start;
    start.log_base = options_.log_dir + "/rank-" + std::to_string(place.rank);
    if (session_.restart != 0) start.log_base += ".restart-" + std::to_string(session_.restart);
    return start;
}

std::vector<WorkerStart> Job::starts() const {
    std::vector<WorkerStart> starts;
    for (const Place &place : placement_.places) starts.push_back(start_of(place));
    return starts;
}

} // namespace mdist
