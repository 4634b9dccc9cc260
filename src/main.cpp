// SPDX-License-Identifier: Apache-2.0
// The program `mdist`: looks at libmdist from outside, by its public headers alone.
#include "bench/bench.h"
#include "bench/costs.h"
#include "bench/workers.h"
#include "check/check.h"
#include "env.h"
#include "launch/launch.h"
#include "records/records.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

constexpr int kBadCommandLine = 2;

/// Options of `bench --workers`; returns the flag itself.
CLI::Option *add_workers(CLI::App &bench, mdist::WorkersOptions &options) {
    const std::string about = "every collective of the job that the environment describes";
    CLI::Option *workers = bench.add_flag("--workers", about);
    const auto one_of = [](const std::vector<std::string> &names) { return CLI::IsMember(names); };
    const CLI::AsSizeValue size(false);
    const std::vector<CLI::Option *> others = {
        bench.add_option("--collective", options.collectives, "only these")->check(one_of(mdist::collective_names())),
        bench.add_option("--min", options.min_bytes, "smallest size, like 4 or 1KiB")->transform(size),
        bench.add_option("--max", options.max_bytes, "largest size")->transform(size),
        bench.add_option("--factor", options.factor, "from size to size")->check(CLI::Range(1.01, 1e9)),
        bench.add_option("--dtype", options.dtypes, "element types")->check(one_of(mdist::dtype_names())),
        bench.add_option("--op", options.ops, "of reductions")->check(one_of(mdist::op_names())),
        bench.add_option("--root", options.root, "the replica that broadcasts"),
        bench.add_option("--memory", options.memory, "the program's, or the library's own (mdist_alloc)")
            ->check(one_of({"ordinary", "library"})),
    };
    for (CLI::Option *option : others) option->needs(workers)->delimiter(',');
    return workers;
}

void add_records(CLI::App &records, mdist::RecordsOptions &options) {
    records.footer(
        "Each record is the bytes of an image and then those of its label, as they are in the IDX files, "
        "plain or gzipped.\nRecord i goes to file i modulo N of PREFIX-00000-of-0000N.tfrecord ...: read in "
        "turns, one record each, they\ngive the original order. No file has its name before all are written.");
    CLI::Option *images =
        records.add_option("--images", options.images, "IDX file of unsigned bytes")->type_name("FILE");
    CLI::Option *labels = records.add_option("--labels", options.labels, "the same, as many")->type_name("FILE");
    CLI::Option *out = records.add_option("--out", options.out, "how the new files' names begin")->type_name("PREFIX");
    CLI::Option *shards = records.add_option("--shards", options.shards, "how many files")->check(CLI::Range(1, 1024));
    shards->capture_default_str()->needs(out);
    records.add_flag("--gzip", options.gzip, "compress them")->needs(out);
    CLI::Option *check = records.add_option("--check", options.check, "count and verify TFRecord files");
    images->needs(labels)->needs(out);
    labels->needs(images);
    out->needs(images);
    check->type_name("FILE ...")->excludes(out)->excludes(images)->excludes(labels);
    records.callback([out, check] {
        if (out->count() + check->count() == 0) throw CLI::RequiredError("--images, --labels and --out, or --check");
    });
}

int dispatch(int argc, char **argv) {
    CLI::App app("libmdist: distributed training strategies", "mdist");
    app.require_subcommand(1);

    bool json = false;
    CLI::App *env = app.add_subcommand("env", "what a strategy created from this environment finds");
    env->add_flag("--json", json, "for programs");
    CLI::App *version = app.add_subcommand("version", "version of the library");

    mdist::BenchOptions options;
    CLI::App *bench = app.add_subcommand("bench", "measure the library against bare floors");
    bench->add_flag("--json", json, "for programs");
    bench->add_flag("--quick", options.quick, "small sizes and few rounds: whether it runs, not how fast");
    bench->add_option("--filter", options.filter, "only cases whose name contains this text");

    mdist::WorkersOptions workers_options;
    CLI::Option *workers = add_workers(*bench, workers_options);
    bench->get_option("--filter")->excludes(workers);
    const std::string about_costs = "reductions of values and assignments in the job that the environment describes";
    CLI::Option *costs = bench->add_flag("--costs", about_costs);
    costs->excludes(workers);

    mdist::LaunchOptions launch_options;
    CLI::App *launch = app.add_subcommand("launch", "run a program as the workers of a job, here or on several hosts");
    mdist::add_launch_options(*launch, launch_options);

    mdist::CheckOptions check_options;
    CLI::App *check =
        app.add_subcommand("check", "whether a job could start here now: config, names, addresses, ports");
    check->add_option("--config", check_options.config, "YAML file (default: the one that MDIST_CONFIG names)");
    check->add_option("--timeout", check_options.timeout_s, "longest wait for a host, in seconds")
        ->capture_default_str();
    check->add_flag("--join", check_options.join,
                    "also form the group and sum; run it as every worker at the same time");

    mdist::RecordsOptions records_options;
    CLI::App *records =
        app.add_subcommand("records", "TFRecord files from IDX files (MNIST), or whether they are whole");
    add_records(*records, records_options);

    std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments[0] == "launch") mdist::take_program(arguments, launch_options);
    std::reverse(arguments.begin(), arguments.end()); // as this parser wants them

    try {
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError &problem) {
        return app.exit(problem) == 0 ? 0 : kBadCommandLine;
    }
    if (version->parsed()) mdist::print_version();
    if (env->parsed()) return mdist::print_environment(json);
    if (check->parsed()) return mdist::run_check(check_options);
    if (launch->parsed()) return mdist::run_launch(launch_options);
    if (records->parsed())
        return records_options.check.empty() ? mdist::make_records(records_options)
                                             : mdist::check_records(records_options);
    workers_options.quick = options.quick;
    if (bench->parsed() && *workers) return mdist::bench_workers(workers_options, json);
    if (bench->parsed() && *costs) return mdist::bench_job_costs(options, json);
    if (bench->parsed()) return mdist::run_bench(options, json);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return dispatch(argc, argv);
    } catch (const mdist::UsageError &problem) {
        std::cerr << "mdist launch: " << problem.what() << "\n";
        return kBadCommandLine;
    } catch (const std::exception &exception) {
        std::cerr << "mdist: " << exception.what() << "\n";
        return 1;
    }
}
