// SPDX-License-Identifier: Apache-2.0
#include "store/serve.h"

#include "launch/placement.h"
#include "launch/secret.h"
#include "launch/signals.h"
#include "launch/store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <poll.h>

namespace mdist {
namespace {

constexpr int kLookMs = 200; // between two looks at who has joined

std::string given_or_variable(const std::string &given, const char *name) {
    if (!given.empty()) return given;
    const char *value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The signal that has asked the store to end, or 0. Waits for a while.
int asked_to_end(Signals &signals) {
    pollfd arrivals = {signals.fd(), POLLIN, 0};
    poll(&arrivals, 1, kLookMs);
    const std::vector<int> taken = signals.take();
    const auto ends = [](int signal) { return asks_to_end(signal) || signal == SIGQUIT; };
    const auto found = std::find_if(taken.begin(), taken.end(), ends);
    return found == taken.end() ? 0 : *found;
}

void print_variables(const JobStore &store, const WorkerRange &workers, const std::string &job,
                     const std::string &secret_file) {
    std::cout << "MDIST_STORE=" << store.address() << "\nMDIST_STORE_OWNER=launcher\n";
    if (!job.empty()) std::cout << "MDIST_JOB_ID=" << job << "\n";
    if (!secret_file.empty())
        std::cout << "MDIST_SECRET_FILE=" << std::filesystem::absolute(secret_file).string() << "\n";
    if (workers.least != 0)
        std::cout << "MDIST_ELASTIC_REPLICAS=" << configured("elastic.replicas")
                  << "\nMDIST_ELASTIC_MIN_WORKERS=" << workers.least << "\nMDIST_ELASTIC_MAX_WORKERS=" << workers.most
                  << "\n";
    std::cout << std::flush;
}

} // namespace

int serve_store(const ServeOptions &options) {
    const WorkerRange workers = parse_worker_range(options.workers);
    if (!options.state.empty() && workers.least == 0)
        throw UsageError(
            "--state needs an elastic job: -n MIN:MAX. A job of fixed size ends with its first loss, and needs no "
            "store once it has formed");
    const std::string job = given_or_variable(options.job, "MDIST_JOB_ID");
    const std::string file = options.no_secret ? "" : given_or_variable(options.secret_file, "MDIST_SECRET_FILE");
    const std::string secret = file.empty() ? "" : read_secret(file);
    if (file.empty() && !options.no_secret)
        std::cerr
            << "mdist store: there is no secret, so anybody who can connect may join "
            << (configured("elastic.open") == "true" ? "at any time" : "while the job forms")
            << ". Write one with `mdist secret FILE`, and give it to the store and all workers, or say --no-secret\n";
    Signals signals; // before the store, whose thread must not receive signals
    const JobStore store(JobStoreOptions{options.address, workers.most, workers.least, job, secret, options.state});
    print_variables(store, workers, job, file);
    std::string told;
    for (;;) {
        const bool over = workers.least != 0 && store.ended();
        const std::string now = store.progress();
        if (now != told) std::cerr << "mdist store: " << now << std::endl;
        if (over) return 0;
        told = now;
        if (const int signal = asked_to_end(signals))
            return options.state.empty() ? 0 : 128 + signal; // the job goes on
    }
}

} // namespace mdist
