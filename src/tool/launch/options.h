// SPDX-License-Identifier: Apache-2.0
// The options of `mdist launch`, as given on the command line. Main thread.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mdist {

/// A wrong command line. The message says what would be right.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct LaunchOptions {
    std::string workers; // a count or "auto"; empty: not given
    uint32_t per_node = 0;
    uint32_t nodes = 1;
    uint32_t node_rank = 0;
    std::string hosts;
    std::string hostfile;
    std::string discover; // a command for sh
    std::string rsh = "ssh";
    std::string store;
    std::string job;
    std::string secret_file;
    bool no_secret = false;
    std::vector<std::string> environment; // NAME=VALUE
    bool no_input = false;
    std::string log_dir;
    bool timestamps = false;
    bool no_prefix = false;
    std::string quiet_ranks;
    double timeout_s = 0; // 0: none
    // Longer than the library's heartbeat_timeout, so that other workers detect the failure and report it themselves.
    double grace_s = 15;
    uint32_t max_restarts = 0;
    double leave_out_s = 300; // a host on which workers of an elastic job failed in a row
    bool dry_run = false;
    std::vector<std::string> resize; // job and number of workers; empty: start a job
    std::vector<std::string> program;
};

/// Adds the options of `launch` to its subcommand. `options` must outlive the parsing.
void add_launch_options(CLI::App &launch, LaunchOptions &options);

/// Moves the program out of the command line of `mdist launch`. The program begins with the first word that belongs to
/// no option, or after `--`.
void take_program(const CLI::App &launch, std::vector<std::string> &arguments, LaunchOptions &options);

} // namespace mdist
