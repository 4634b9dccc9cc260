// SPDX-License-Identifier: Apache-2.0
// The program `mdist`. It uses libmdist from outside, by its public headers only.
#include "bench/bench.h"
#include "bench/beside.h"
#include "bench/costs.h"
#include "bench/elastic.h"
#include "bench/workers.h"
#include "check/check.h"
#include "check/gpu.h"
#include "env.h"
#include "help/completions.h"
#include "help/page.h"
#include "keys.h"
#include "launch/launch.h"
#include "nearest.h"
#include "records/records.h"
#include "secret/secret.h"
#include "store/serve.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

constexpr int kBadCommandLine = 2;

/// The parser's help in our own form.
class Help : public CLI::Formatter {
  public:
    std::string make_help(const CLI::App *app, std::string, CLI::AppFormatMode) const override {
        return mdist::help_text(mdist::page_of(*app));
    }
};

/// Removes the description, which names the parser's types.
CLI::Validator plain(CLI::Validator validator) {
    return validator.description("");
}

/// "sum, mean, min"
std::string listed(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// Options of `bench --workers`; returns the flag itself.
CLI::Option *add_workers(CLI::App &bench, mdist::WorkersOptions &options) {
    const std::string about = "measure each collective of the job that the environment describes";
    CLI::Option *workers = bench.add_flag("--workers", about);
    const auto one_of = [](const std::vector<std::string> &names) { return plain(CLI::IsMember(names)); };
    const CLI::Validator size = plain(CLI::AsSizeValue(false));
    const std::vector<std::pair<CLI::Option *, const char *>> others = {
        {bench
             .add_option("--collective", options.collectives,
                         "with --workers: only these: " + listed(mdist::collective_names()))
             ->check(one_of(mdist::collective_names())),
         "NAME,..."},
        {bench.add_option("--min", options.min_bytes, "with --workers: from this size, like 4 or 1KiB")
             ->transform(size),
         "SIZE"},
        {bench.add_option("--max", options.max_bytes, "with --workers: up to this size")->transform(size), "SIZE"},
        {bench.add_option("--factor", options.factor, "with --workers: each size is X times the one before; from 1.01")
             ->check(plain(CLI::Range(1.01, 1e9))),
         "X"},
        {bench.add_option("--dtype", options.dtypes, "with --workers: element types: " + listed(mdist::dtype_names()))
             ->check(one_of(mdist::dtype_names())),
         "TYPE,..."},
        {bench.add_option("--op", options.ops, "with --workers: reduce by " + listed(mdist::op_names()))
             ->check(one_of(mdist::op_names())),
         "NAME,..."},
        {bench.add_option("--root", options.root, "with --workers: this replica broadcasts"), "REPLICA"},
        {bench.add_option("--memory", options.memory, "with --workers: buffers in ordinary or library memory")
             ->check(one_of({"ordinary", "library"})),
         "NAME"},
    };
    for (const auto &[option, type] : others) option->type_name(type)->needs(workers)->delimiter(',');
    CLI::Option *beside = bench.add_option("--beside", options.beside,
                                           "with --workers: all-reduces of float32 beside those of an MPI, whose "
                                           "launcher started this: mpi, or its library");
    beside->type_name("mpi|FILE")->needs(workers)->check(plain(CLI::IsMember({"mpi"}) | CLI::ExistingFile));
    for (const char *other : {"--collective", "--dtype", "--op", "--root", "--memory"})
        beside->excludes(bench.get_option(other));
    return workers;
}

void add_records(CLI::App &records, mdist::RecordsOptions &options) {
    records.footer(
        "Each record is the bytes of an image and then those of its label, as they are in the IDX files. The IDX files "
        "may be gzipped. Record i goes to file i modulo N of PREFIX-00000-of-0000N.tfrecord and so on. A reader that "
        "takes one record from each file in turn gets the original order. The new files get their names when all of "
        "them are complete.\n\nExamples:\n\n"
        "    mdist records --images train-images.gz --labels train-labels.gz \\\n"
        "        --out train --shards 8\n"
        "    mdist records --check train-*.tfrecord");
    CLI::Option *images =
        records.add_option("--images", options.images, "read images from this IDX file of unsigned bytes")
            ->type_name("FILE");
    CLI::Option *labels =
        records.add_option("--labels", options.labels, "read the labels of these images from this IDX file")
            ->type_name("FILE");
    CLI::Option *out =
        records.add_option("--out", options.out, "begin the names of the new files with this")->type_name("PREFIX");
    CLI::Option *shards = records.add_option("--shards", options.shards, "write N files, from 1 to 1024");
    shards->check(plain(CLI::Range(1, 1024)))->type_name("N")->capture_default_str()->needs(out);
    records.add_flag("--gzip", options.gzip, "compress the files")->needs(out);
    CLI::Option *check = records.add_option("--check", options.check, "count and verify the records of TFRecord files");
    images->needs(labels)->needs(out);
    labels->needs(images);
    out->needs(images);
    check->type_name("FILE")->excludes(out)->excludes(images)->excludes(labels);
    records.callback([out, check] {
        if (out->count() + check->count() == 0) throw CLI::RequiredError("--images, --labels and --out, or --check");
    });
}

void add_check(CLI::App &check, mdist::CheckOptions &options) {
    check.add_option("--config", options.config, "read this YAML file (default: the one that MDIST_CONFIG names)")
        ->type_name("FILE");
    check.add_option("--timeout", options.timeout_s, "wait this long for a host to answer")
        ->type_name("SECONDS")
        ->capture_default_str();
    check.footer("Examples:\n\n    mdist check --config job.yaml\n    mdist launch -n 2 -- mdist check --join");
    CLI::Option *join =
        check.add_flag("--join", options.join, "also form the job and compute sums; start it on all workers at once");
    check.add_flag("--gpu", options.gpu, "try this machine's GPUs instead, in five minutes, and print a report")
        ->excludes(join)
        ->excludes("--config");
}

/// Whether the first word names a command. If not, prints what is wrong with it.
bool names_command(const CLI::App &app, const std::vector<std::string> &arguments) {
    if (arguments.empty()) {
        std::cerr << app.help();
        return false;
    }
    std::vector<std::string> commands;
    for (const CLI::App *command : app.get_subcommands(nullptr)) commands.push_back(command->get_name());
    const std::string &word = arguments[0];
    if (word.starts_with('-') || std::find(commands.begin(), commands.end(), word) != commands.end()) return true;
    const std::string meant = mdist::nearest(word, commands);
    std::cerr << "mdist: \"" << word << "\" is not a command"
              << (meant.empty() ? "; the commands are " + listed(commands) : "; did you mean \"" + meant + "\"?")
              << "\nRun mdist --help for more information.\n";
    return false;
}

void add_secret(CLI::App &secret, mdist::SecretOptions &options) {
    secret.footer(
        "A secret is 32 random bytes, written as hexadecimal digits to a file that only you can read. Give every "
        "worker the same file by the key secret_file, or as MDIST_SECRET_FILE. `mdist launch` makes a secret of its "
        "own for each job.\n\nExamples:\n\n    mdist secret job.secret");
    CLI::Option *file = secret.add_option("file", options.file, "write the secret to this file (default: print it)");
    file->type_name("FILE")->group("Arguments");
    secret.add_flag("--force", options.force, "replace a file that is there")->needs(file);
}

/// The tool's own page, and then those of its commands.
std::vector<mdist::Page> pages_of(const CLI::App &app) {
    std::vector<mdist::Page> pages = {mdist::page_of(app)};
    for (const CLI::App *command : app.get_subcommands(nullptr)) pages.push_back(mdist::page_of(*command));
    return pages;
}

int print_manual(const CLI::App &app, const std::string &command) {
    const CLI::App *about = command.empty() ? &app : nullptr;
    for (const CLI::App *each : app.get_subcommands(nullptr))
        if (each->get_name() == command) about = each;
    if (about == nullptr) {
        std::cerr << "mdist: there is no command \"" << command << "\"; `mdist --help` lists them\n";
        return kBadCommandLine;
    }
    std::cout << mdist::manual_page(mdist::page_of(*about), mdist::version_line());
    return 0;
}

/// "help launch" asks what "launch --help" does, and "help" what "--help" does.
void take_help(std::vector<std::string> &arguments) {
    if (arguments.empty() || arguments[0] != "help") return;
    arguments.erase(arguments.begin());
    if (arguments.size() < 2) arguments.push_back("--help");
}

/// Long, since it lists all commands: each with its options and what runs it, in the order in which --help shows them.
int dispatch(int argc, char **argv) {
    CLI::App app("Start, check and measure training jobs that use libmdist", "mdist");
    app.formatter(std::make_shared<Help>());
    app.set_help_flag("-h,--help", "show this help");
    app.require_subcommand(1);
    app.footer(
        "`mdist COMMAND --help` shows a command's options and examples.\n\nExamples:\n\n"
        "    mdist launch -n 4 -- ./train\n    mdist env\n    mdist check --config job.yaml");
    app.set_version_flag("--version", mdist::version_line(), "show the version of the library");

    bool json = false;
    CLI::App *env = app.add_subcommand("env", "Show what a strategy finds in this environment");
    env->add_flag("--json", json, "print JSON, for programs");
    env->footer("Examples:\n\n    mdist env\n    MDIST_RANK=1 MDIST_SIZE=4 mdist env --json");
    bool markdown = false;
    CLI::App *keys = app.add_subcommand("keys", "List what can be configured: keys, variables, defaults");
    keys->add_flag("--markdown", markdown, "print the table of docs/reference/configuration.md");
    keys->footer("Examples:\n\n    mdist keys");
    CLI::App *version = app.add_subcommand("version", "Show the version of the library");
    version->footer("Examples:\n\n    mdist version");

    mdist::BenchOptions options;
    CLI::App *bench = app.add_subcommand("bench", "Measure the library, beside bare programs that do the same work");
    bench->add_flag("--json", json, "print JSON, for programs");
    bench->add_flag("--quick", options.quick, "small sizes and few rounds: shows that it runs, not how fast");
    bench->add_option("--filter", options.filter, "measure only cases whose name contains this text")
        ->type_name("TEXT");

    mdist::WorkersOptions workers_options;
    CLI::Option *workers = add_workers(*bench, workers_options);
    bench->get_option("--filter")->excludes(workers);
    const std::string about_costs =
        "not with --workers: measure reductions of values and assignments, in the job that "
        "the environment describes";
    CLI::Option *costs = bench->add_flag("--costs", about_costs);
    costs->excludes(workers);
    const std::string about_elastic = "measure what elastic jobs cost, and the loss of a worker in one; starts its own";
    CLI::Option *elastic = bench->add_flag("--elastic", about_elastic);
    elastic->excludes(workers)->excludes(costs);
    // How the bench starts itself as a worker. Hidden, since it is of no use by itself.
    const CLI::Option *elastic_worker = bench->add_flag("--elastic-worker")->group("")->excludes(elastic);
    bench->footer(
        "Examples:\n\n    mdist bench --filter all_reduce\n"
        "    mdist launch -n 4 -- mdist bench --workers --max 1MiB\n"
        "    mpirun -n 4 mdist bench --workers --beside mpi\n"
        "    mdist bench --elastic");

    mdist::LaunchOptions launch_options;
    CLI::App *launch = app.add_subcommand("launch", "Run a program as the workers of a job, here or on several hosts");
    mdist::add_launch_options(*launch, launch_options);

    mdist::CheckOptions check_options;
    CLI::App *check = app.add_subcommand("check", "Tell whether a job could start here now, and if not, why");
    add_check(*check, check_options);

    mdist::RecordsOptions records_options;
    CLI::App *records = app.add_subcommand("records", "Make TFRecord files from IDX files (MNIST), or verify them");
    add_records(*records, records_options);

    mdist::SecretOptions secret_options;
    CLI::App *secret = app.add_subcommand("secret", "Write a secret for the workers of a job");
    add_secret(*secret, secret_options);

    mdist::ServeOptions serve_options;
    CLI::App *store = app.add_subcommand("store", "Serve the meeting point of a job, outside of its workers");
    mdist::add_serve_options(*store, serve_options);

    std::string shell;
    CLI::App *completions = app.add_subcommand("completions", "Print the completion script of a shell");
    completions->add_option("shell", shell, "bash, zsh or fish")
        ->type_name("SHELL")
        ->group("Arguments")
        ->check(plain(CLI::IsMember({"bash", "zsh", "fish"})))
        ->required();
    completions->footer(
        "Examples:\n\n    source <(mdist completions bash)\n"
        "    mdist completions fish > ~/.config/fish/completions/mdist.fish");
    std::string manual_of;
    CLI::App *man = app.add_subcommand("man", "Print the manual page of a command");
    man->add_option("command", manual_of, "the command (default: mdist itself)")
        ->type_name("COMMAND")
        ->group("Arguments");
    man->footer("Examples:\n\n    mdist man launch | man -l -");

    std::vector<std::string> arguments(argv + 1, argv + argc);
    take_help(arguments);
    if (!names_command(app, arguments)) return kBadCommandLine;
    if (arguments[0] == "launch") mdist::take_program(*launch, arguments, launch_options);
    std::reverse(arguments.begin(), arguments.end()); // this parser wants them reversed

    try {
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError &problem) {
        return app.exit(problem) == 0 ? 0 : kBadCommandLine;
    }
    if (completions->parsed()) std::cout << mdist::completions_for(shell, pages_of(app));
    if (man->parsed()) return print_manual(app, manual_of);
    if (version->parsed()) std::cout << mdist::version_line() << "\n";
    if (env->parsed()) return mdist::print_environment(json);
    if (keys->parsed()) return mdist::print_keys(markdown);
    if (check->parsed() && check_options.gpu) mdist::check_gpu();
    if (check->parsed()) return mdist::run_check(check_options);
    if (launch->parsed()) return mdist::run_launch(launch_options);
    if (secret->parsed()) return mdist::make_secret(secret_options);
    if (store->parsed()) return mdist::serve_store(serve_options);
    if (records->parsed())
        return records_options.check.empty() ? mdist::make_records(records_options)
                                             : mdist::check_records(records_options);
    workers_options.quick = options.quick;
    if (bench->parsed() && *workers)
        return workers_options.beside.empty() ? mdist::bench_workers(workers_options, json)
                                              : mdist::bench_beside_mpi(workers_options, json);
    if (bench->parsed() && *costs) return mdist::bench_job_costs(options, json);
    if (bench->parsed() && *elastic_worker) return mdist::run_elastic_bench_worker();
    if (bench->parsed() && *elastic) return mdist::bench_elastic(options, json);
    if (bench->parsed()) return mdist::run_bench(options, json);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return dispatch(argc, argv);
    } catch (const mdist::UsageError &problem) {
        std::cerr << "mdist " << argv[1] << ": " << problem.what() << "\n"; // only commands throw it
        return kBadCommandLine;
    } catch (const std::exception &exception) {
        std::cerr << "mdist: " << exception.what() << "\n";
        return 1;
    }
}
