// SPDX-License-Identifier: Apache-2.0
#include "launch/job.h"

#include "launch/reachable.h"
#include "launch/remote.h"
#include "network.h"

#include <mdist/mdist.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include <unistd.h>

namespace mdist {
namespace {

constexpr const char *kSecretInTheMaking = "made at the start";

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// The launcher's environment with `variables` added. Variables of an outer launcher are removed.
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
    // Launchers that share nothing but the store must choose the same name.
    if (options.nodes > 1) return "mdist-" + options.store;
    return "mdist-" + random_hex(4);
}

/// The address at which workers find this machine. A dry run asks no resolver, since names may be unknown where it
/// runs.
std::string store_host(const LaunchOptions &options, const Placement &placement) {
    if (!options.dry_run || placement.other_host().empty()) return own_address_for(placement);
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return own;
}

/// All workers of an elastic job and its store must agree on these, and other hosts do not get this environment.
Variables elastic_variables() {
    Variables all;
    for (const auto &[name, key] :
         {std::pair("MDIST_ELASTIC_REPLICAS", "elastic.replicas"), std::pair("MDIST_ELASTIC_COPIES", "elastic.copies"),
          std::pair("MDIST_ELASTIC_WAIT", "elastic.wait"),
          std::pair("MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT", "elastic.max_losses_per_commit"),
          std::pair("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", "communication.heartbeat_timeout")})
        if (std::string value = configured(key); !value.empty()) all.emplace_back(name, std::move(value));
    return all;
}

void check_store(const LaunchOptions &options, const Placement &placement) {
    if (options.store.empty()) {
        if (!options.discover.empty() && placement.other_host().empty())
            throw UsageError(
                "--discover names only this host now; say with --store HOST:PORT where workers of other "
                "hosts can reach it, or with --store 127.0.0.1:0 that none will come");
        if (options.nodes == 1) return;
        throw UsageError("--nodes needs --store HOST:PORT, where all nodes can reach the launcher of node 0");
    }
    try {
        if (split_address(options.store).port == "0" && options.nodes > 1)
            throw UsageError("--store " + options.store +
                             ": give a port other than 0, since the launchers of other nodes must know it");
    } catch (const BadAddress &problem) {
        throw UsageError("--store: " + std::string(problem.what()));
    }
}

} // namespace

Job::Job(const LaunchOptions &options, const Placement &placement, uint32_t usable_cpus)
    : options_(options), placement_(placement), usable_cpus_(usable_cpus) {
    check_store(options, placement);
    session_.job = job_name(options);
    session_.store = options.store.empty() ? store_host(options, placement) + ":0" : options.store;
    if (is_elastic()) session_.elastic = elastic_variables();
    if (options.no_secret) return;
    session_.secret_file = options.secret_file.empty() ? variable("MDIST_SECRET_FILE") : options.secret_file;
    // Launchers on several nodes cannot make one secret together.
    if (session_.secret_file.empty() && options.nodes == 1 && mdist_has("secret") != 0)
        session_.secret_file = kSecretInTheMaking;
}

void Job::choose_secret() {
    if (session_.secret_file == kSecretInTheMaking) {
        session_.secret = random_hex(kSecretBytes);
        session_.secret_file = own_secret_.emplace().path();
    } else if (!session_.secret_file.empty()) {
        session_.secret = read_secret(session_.secret_file);
    }
}

void Job::open() {
    if (own_secret_) own_secret_->make(session_.secret);
    if (!options_.log_dir.empty()) std::filesystem::create_directories(options_.log_dir);
    if (options_.node_rank == 0) open_store();
}

void Job::open_store() {
    store_.emplace(JobStoreOptions{session_.store, placement_.size, placement_.least, session_.job, session_.secret});
    session_.store = store_->address();
}

void Job::begin(uint32_t restart) {
    session_.restart = restart;
    if (restart != 0 && store_) store_->restart(restart);
}

/// The store of an elastic job serves only one.
void Job::begin_again(uint32_t number) {
    begun_again_ = number;
    store_.reset(); // frees the address
    open_store();
}

WorkerStart Job::start_of(const Place &place) const {
    WorkerStart start;
    if (is_elastic()) start.id = std::stoull(random_hex(7), nullptr, 16) + 1;
    const Variables variables = worker_variables(options_, placement_, place, session_, usable_cpus_, start.id);
    start.place = place;
    start.words = place.remote ? remote_words(options_, place, variables, sends_secret(place)) : options_.program;
    start.environment = environment_with(place.remote ? Variables{} : variables);
    // Background processes must not read from a terminal: that would stop them.
    const bool reads = place.rank == 0 && !options_.no_input && isatty(STDIN_FILENO) == 0 &&
                       begun_again_ == 0; // the first start has read some of it
    start.input = place.remote ? Input::kPipe : reads ? Input::kInherited : Input::kNone;
    if (sends_secret(place)) start.greeting = session_.secret + "\n";
    if (options_.log_dir.empty()) return start;
    start.log_base = options_.log_dir + "/rank-" + std::to_string(place.rank);
    if (session_.restart != 0) start.log_base += ".restart-" + std::to_string(session_.restart);
    if (begun_again_ != 0) start.log_base += ".again-" + std::to_string(begun_again_);
    return start;
}

WorkerStart Job::start_again(const Place &place, uint32_t number) const {
    WorkerStart start = start_of(place);
    if (!start.log_base.empty()) start.log_base += ".replacement-" + std::to_string(number);
    start.input = start.input == Input::kInherited ? Input::kNone : start.input; // the first one has read some of it
    return start;
}

std::vector<WorkerStart> Job::starts(const std::vector<Place> &places) const {
    std::vector<WorkerStart> starts;
    for (const Place &place : places) starts.push_back(start_of(place));
    return starts;
}

} // namespace mdist
