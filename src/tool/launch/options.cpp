// SPDX-License-Identifier: Apache-2.0
#include "launch/options.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace mdist {
namespace {

constexpr const char *kLaunchFooter = R"(
Every worker finds its place in MDIST_RANK, MDIST_SIZE, MDIST_LOCAL_RANK, MDIST_LOCAL_SIZE, MDIST_NODE_RANK,
MDIST_NODES, MDIST_STORE, MDIST_JOB_ID, MDIST_RESTART and, with a secret, MDIST_SECRET_FILE.

The program is the first word that belongs to no option. Put -- before it if it begins with a dash.

Exit status:

    0         every worker ended with 0
    1 to 255  the status of the first worker that failed; 128 + N if signal N
              ended it
    124       the job reached its time limit (--timeout)
    126, 127  the program cannot be run, or does not exist
    2         the command line is invalid

Signals: INT, TERM and HUP ask the workers to end. Another one, at least a second later, kills them. QUIT, USR1 and
USR2 are passed on to the workers.

An elastic job (-n MIN:MAX, and the key elastic.replicas) goes on when workers are lost. A worker that was killed is
replaced, on another host if its own fails again and again. If workers are lost before the first commit, the job begins
again. It has ended well if one of its workers has. While it runs, --resize changes its number of workers, from MIN to
MAX, and so do the hosts that the command of --discover names, one on each line: alpha, alpha:2 or alpha slots=2.

Examples:

    mdist launch -n 4 -- ./train --epochs 3
    MDIST_ELASTIC_REPLICAS=8 mdist launch -n 2:4 --job run8 -- ./train
    mdist launch --resize run8 2
    mdist launch --hosts alpha:2,beta:2 -- ./train
    MDIST_ELASTIC_REPLICAS=8 mdist launch -n 2:4 --discover ./hosts -- ./train
    mdist launch --nodes 2 --per-node 2 --node-rank 0 \
        --store 10.0.0.1:4400 -- ./train       # --node-rank 1 on the other
)";

void add_size(CLI::App &launch, LaunchOptions &options) {
    const char *group = "How many, and where";
    launch
        .add_option("-n,--workers", options.workers,
                    "start N workers; auto: one for each usable CPU; MIN:MAX: an elastic job of MAX at first")
        ->type_name("N")
        ->group(group);
    launch
        .add_option("--per-node", options.per_node, "start K workers on each node; each node has a launcher of its own")
        ->type_name("K")
        ->check(CLI::PositiveNumber.description(""))
        ->group(group);
    launch.add_option("--nodes", options.nodes, "the job has M launchers, one per node")
        ->type_name("M")
        ->check(CLI::PositiveNumber.description(""))
        ->group(group);
    launch.add_option("--node-rank", options.node_rank, "this is launcher I, from 0")->type_name("I")->group(group);
    launch.add_option("--hosts", options.hosts, "start workers on these hosts, as in alpha:2,beta:2")
        ->type_name("HOST:N,...")
        ->group(group);
    launch
        .add_option("--hostfile", options.hostfile,
                    "the same from a file with a host on each line: alpha, alpha:2 or alpha slots=2")
        ->type_name("FILE")
        ->group(group);
    launch
        .add_option("--discover", options.discover,
                    "ask this command again and again for the hosts of an elastic job, each on a line as in --hostfile")
        ->type_name("COMMAND")
        ->group(group);
    launch.add_option("--rsh", options.rsh, "start workers on other hosts with this program")
        ->type_name("PROGRAM")
        ->capture_default_str()
        ->group(group);
}

void add_job(CLI::App &launch, LaunchOptions &options) {
    const char *group = "The job";
    launch.add_option("--store", options.store, "where the workers meet; served by node 0 (default: any free port)")
        ->type_name("HOST:PORT")
        ->group(group);
    launch
        .add_option("--job", options.job, "name of the job (default: a random one; with --nodes one made of --store)")
        ->type_name("ID")
        ->group(group);
    launch
        .add_option("--secret-file", options.secret_file,
                    "use the secret in this file (default: MDIST_SECRET_FILE, else a random one; with --nodes none)")
        ->type_name("FILE")
        ->group(group);
    launch.add_flag("--no-secret", options.no_secret, "let anybody join while the job forms")->group(group);
    launch.add_option("--env", options.environment, "set a variable for the workers; may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->group(group);
    launch.add_flag("--no-input", options.no_input, "give rank 0 no stdin (the others never have one)")->group(group);
    launch
        .add_option("--resize", options.resize,
                    "start nothing; let the elastic job JOB, which runs here, go on with N workers")
        ->type_name("JOB N")
        ->expected(2)
        ->group(group);
    launch.add_flag("--dry-run", options.dry_run, "print what would run, and where; run nothing")->group(group);
}

void add_output(CLI::App &launch, LaunchOptions &options) {
    const char *group = "Output";
    launch.add_option("--log-dir", options.log_dir, "also write a file for each rank and stream to this folder")
        ->type_name("DIR")
        ->group(group);
    launch.add_flag("--timestamps", options.timestamps, "put date and time before every line")->group(group);
    launch.add_flag("--no-prefix", options.no_prefix, "put no \"[rank] \" before every line")->group(group);
    launch.add_option("--quiet-ranks", options.quiet_ranks, "show no output of these ranks, as in 1-3,8 or 1-")
        ->type_name("LIST")
        ->group(group);
}

void add_end(CLI::App &launch, LaunchOptions &options) {
    const char *group = "The end";
    launch.add_option("--timeout", options.timeout_s, "end the job after this time")
        ->type_name("SECONDS")
        ->check(CLI::NonNegativeNumber.description(""))
        ->group(group);
    launch
        .add_option("--grace", options.grace_s,
                    "after a failure, wait this long before SIGTERM, and again before SIGKILL")
        ->type_name("SECONDS")
        ->check(CLI::NonNegativeNumber.description(""))
        ->capture_default_str()
        ->group(group);
    launch
        .add_option("--leave-out", options.leave_out_s,
                    "start no workers of an elastic job for so long on a host where three failed in a row")
        ->type_name("SECONDS")
        ->check(CLI::NonNegativeNumber.description(""))
        ->capture_default_str()
        ->group(group);
    launch.add_option("--max-restarts", options.max_restarts, "restart a failed job at most R times")
        ->type_name("R")
        ->capture_default_str()
        ->group(group);
}

/// How many of the next words are the option's: one as in "-n 4", none as in "-n4", "--workers=4" or "--dry-run".
int words_after(const CLI::App &launch, const std::string &word) {
    if (!word.starts_with("--") && word.size() > 2) return 0;
    const CLI::Option *option = launch.get_option_no_throw(word);
    return option == nullptr || option->get_items_expected_max() == 0 ? 0
                                                                      : std::max(1, option->get_items_expected_min());
}

} // namespace

void add_launch_options(CLI::App &launch, LaunchOptions &options) {
    launch.footer(kLaunchFooter);
    add_size(launch, options);
    add_job(launch, options);
    add_output(launch, options);
    add_end(launch, options);
}

void take_program(const CLI::App &launch, std::vector<std::string> &arguments, LaunchOptions &options) {
    auto word = arguments.begin() + 1; // after "launch"
    while (word != arguments.end() && word->starts_with('-') && *word != "--") {
        if (*word == "-np") *word = "-n"; // as mpirun has it
        word += std::min<std::ptrdiff_t>(1 + words_after(launch, *word), arguments.end() - word);
    }
    if (word == arguments.end()) return;
    options.program.assign(*word == "--" ? word + 1 : word, arguments.end());
    arguments.erase(word, arguments.end());
}

} // namespace mdist
