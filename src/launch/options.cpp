// SPDX-License-Identifier: Apache-2.0
#include "launch/options.h"

#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

namespace mdist {
namespace {

constexpr const char *kFooter = R"(
Every worker finds its place in MDIST_RANK, MDIST_SIZE, MDIST_LOCAL_RANK, MDIST_LOCAL_SIZE, MDIST_NODE_RANK,
MDIST_NODES, MDIST_STORE, MDIST_JOB_ID, MDIST_RESTART and, with a secret, MDIST_SECRET_FILE.

Exit status: 0 if every worker ended with 0; else that of the first worker that failed, 128 + N if signal N ended it;
124 after --timeout; 126 or 127 if the program cannot be run; 2 for a command line that makes no sense.

Signals: INT, TERM and HUP ask the workers to end, a second one kills them; QUIT, USR1 and USR2 are passed on.

    mdist launch -n 4 -- ./train --epochs 3
    mdist launch --hosts alpha:2,beta:2 -- ./train
    mdist launch --per-node 2 --nodes 2 --node-rank 0 --store 10.0.0.1:4400 -- ./train    (and --node-rank 1 on the other)
)";

class Help : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App *, std::string) const override {
        return "Usage: mdist launch [OPTION...] -- PROGRAM [ARGUMENT...]\n";
    }
};

void add_size(CLI::App &launch, LaunchOptions &options) {
    const char *group = "How many, and where";
    launch.add_option("-n,--workers", options.workers, "workers of the job: a count, or auto: the CPUs usable here")
        ->type_name("N")
        ->group(group);
    launch.add_option("--per-node", options.per_node, "workers on each node, where every node has its own launcher")
        ->type_name("K")
        ->check(CLI::PositiveNumber.description(""))
        ->group(group);
    launch.add_option("--nodes", options.nodes, "launchers of the job, one per node")
        ->type_name("M")
        ->check(CLI::PositiveNumber.description(""))
        ->group(group);
    launch.add_option("--node-rank", options.node_rank, "which of them this is, from 0")->type_name("I")->group(group);
    launch.add_option("--hosts", options.hosts, "hosts with their workers, as in alpha:2,beta:2; started by --rsh")
        ->type_name("HOST:N,...")
        ->group(group);
    launch.add_option("--rsh", options.rsh, "program that runs a command on a host")
        ->type_name("PROGRAM")
        ->capture_default_str()
        ->group(group);
}

void add_job(CLI::App &launch, LaunchOptions &options) {
    const char *group = "The job";
    launch
        .add_option("--store", options.store,
                    "where workers meet; the launcher of node 0 serves it (default: any port)")
        ->type_name("HOST:PORT")
        ->group(group);
    launch.add_option("--job", options.job, "name of the job (default: a random one)")->type_name("ID")->group(group);
    launch.add_option("--secret-file", options.secret_file, "what workers prove to each other (default: a random one)")
        ->type_name("FILE")
        ->group(group);
    launch.add_flag("--no-secret", options.no_secret, "let workers prove nothing")->group(group);
    launch.add_option("--env", options.environment, "variable for the workers; may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->group(group);
    launch.add_flag("--no-input", options.no_input, "no stdin for rank 0 (the others never have one)")->group(group);
    launch.add_flag("--dry-run", options.dry_run, "print what would be run, and where")->group(group);
}

void add_output(CLI::App &launch, LaunchOptions &options) {
    const char *group = "Output";
    launch.add_option("--log-dir", options.log_dir, "folder that gets a file for each rank and stream as well")
        ->type_name("DIR")
        ->group(group);
    launch.add_flag("--timestamps", options.timestamps, "date and time before every line")->group(group);
    launch.add_flag("--no-prefix", options.no_prefix, "no \"[rank] \" before every line")->group(group);
    launch.add_option("--quiet-ranks", options.quiet_ranks, "ranks whose output is not shown, as in 1-3,8 or 1-")
        ->type_name("LIST")
        ->group(group);
}

void add_end(CLI::App &launch, LaunchOptions &options) {
    const char *group = "The end";
    launch.add_option("--timeout", options.timeout_s, "longest time for the job")
        ->type_name("SECONDS")
        ->check(CLI::NonNegativeNumber.description(""))
        ->group(group);
    launch.add_option("--grace", options.grace_s, "after a failure, time before SIGTERM, and again before SIGKILL")
        ->type_name("SECONDS")
        ->check(CLI::NonNegativeNumber.description(""))
        ->capture_default_str()
        ->group(group);
    launch.add_option("--max-restarts", options.max_restarts, "how often a failed job is started again, as a whole")
        ->type_name("R")
        ->capture_default_str()
        ->group(group);
}

} // namespace

void add_launch_options(CLI::App &launch, LaunchOptions &options) {
    launch.formatter(std::make_shared<Help>());
    launch.footer(kFooter);
    add_size(launch, options);
    add_job(launch, options);
    add_output(launch, options);
    add_end(launch, options);
}

void take_program(std::vector<std::string> &arguments, LaunchOptions &options) {
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    if (mark == arguments.end()) return;
    options.program.assign(mark + 1, arguments.end());
    arguments.erase(mark, arguments.end());
}

} // namespace mdist
