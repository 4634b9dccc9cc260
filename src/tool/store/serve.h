// SPDX-License-Identifier: Apache-2.0
// `mdist store`: serves the meeting point of a job outside of its workers and launchers. Main thread.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace mdist {

struct ServeOptions {
    std::string address; // host:port
    std::string workers; // "4", or "2:4" for an elastic job
    std::string job;         // empty: MDIST_JOB_ID, else none
    std::string secret_file; // empty: MDIST_SECRET_FILE, else none
    bool no_secret = false;
    std::string state; // folder in which the store of an elastic job keeps its state; empty: none
};

void add_serve_options(CLI::App &store, ServeOptions &options);

/// Serves until a signal asks it to end, or until its elastic job is over. Returns the exit status. Throws UsageError, std::system_error, std::runtime_error.
int serve_store(const ServeOptions &options);

} // namespace mdist
