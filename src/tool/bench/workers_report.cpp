// SPDX-License-Identifier: Apache-2.0
#include "bench/workers_report.h"

#include "counted.h"

#include <cinttypes>
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

namespace mdist {

const char *op_name(mdist_reduce_op_t op) {
    constexpr const char *kNames[] = {"sum", "mean", "min", "max", "prod", "and", "or", "xor"};
    return kNames[op - MDIST_SUM];
}

void print_job(const MeasuredJob &job) {
    std::printf("# %u replicas on %u %s, %s memory; medians, of the slowest replica\n", job.replicas, job.workers,
                job.workers == 1 ? "worker" : "workers", job.memory.c_str());
}

void print_header(const Collective &collective) {
    std::printf("#\n# %s%s\n", collective.name, collective.has_data() && !collective.apart ? ", in place" : "");
    std::printf("# %10s  %12s  %8s  %6s  %4s  %11s  %8s  %8s  %6s\n", "size", "count", "type", "redop", "root", "time",
                "algbw", "busbw", "#wrong");
    std::printf("# %10s  %12s  %8s  %6s  %4s  %11s  %8s  %8s\n", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
                "(GB/s)");
}

void print_row(const WorkersRow &row) {
    const Case &what = row.what;
    if (what.collective->has_data()) {
        const std::string root = what.collective->has_root ? std::to_string(what.root) : "-";
        std::printf("  %10" PRIu64 "  %12" PRIu64 "  %8s  %6s  %4s  %11.2f  %8.3f  %8.3f  %6" PRIu64 "\n", what.bytes(),
                    what.count(), mdist_dtype_name(what.dtype), what.collective->reduces ? op_name(what.op) : "-",
                    root.c_str(), row.ns / 1e3, row.algorithm_gbs(), row.bus_gbs(), row.wrong);
    } else {
        std::printf("  %10s  %12s  %8s  %6s  %4s  %11.2f  %8s  %8s  %6s\n", "-", "-", "-", "-", "-", row.ns / 1e3, "-",
                    "-", "-");
    }
    std::fflush(stdout);
}

void print_workers_json(const MeasuredJob &job, const std::vector<WorkersRow> &rows) {
    using Json = nlohmann::ordered_json;
    Json all = {{"version", mdist_version()},
                {"replicas", job.replicas},
                {"workers", job.workers},
                {"memory", job.memory},
                {"rows", Json::array()}};
    for (const WorkersRow &row : rows) {
        const Case &what = row.what;
        Json json = {{"collective", what.collective->name}, {"time_us", row.ns / 1e3}};
        if (what.collective->has_data()) {
            json["bytes"] = what.bytes();
            json["count"] = what.count();
            json["dtype"] = mdist_dtype_name(what.dtype);
            json["op"] = what.collective->reduces ? Json(op_name(what.op)) : Json();
            json["root"] = what.collective->has_root ? Json(what.root) : Json();
            json["algbw_gbs"] = row.algorithm_gbs();
            json["busbw_gbs"] = row.bus_gbs();
            json["wrong"] = row.wrong;
        }
        all["rows"].push_back(json);
    }
    std::cout << all.dump(2) << "\n";
}

void print_beside_header(uint32_t workers, const std::string &mpi) {
    std::printf("# all-reduce of float32, sum, in place; %s; medians, of the slowest worker\n",
                counted(workers, "worker").c_str());
    std::printf("# libmdist beside %s, in turns, in the same processes\n", mpi.c_str());
    std::printf("# %10s  %12s  %12s  %8s  %6s\n", "size", "libmdist", "MPI", "times", "#wrong");
    std::printf("# %10s  %12s  %12s  %8s\n", "(B)", "(us)", "(us)", "as fast");
}

void print_beside_row(const BesideRow &row) {
    std::printf("  %10" PRIu64 "  %12.2f  %12.2f  %8.2f  %6" PRIu64 "\n", row.bytes, row.mdist_us, row.mpi_us,
                row.times, row.wrong);
    std::fflush(stdout);
}

void print_beside_json(uint32_t workers, const std::string &mpi, const std::vector<BesideRow> &rows) {
    nlohmann::ordered_json all = {
        {"version", mdist_version()}, {"workers", workers}, {"mpi", mpi}, {"rows", nlohmann::ordered_json::array()}};
    for (const BesideRow &row : rows)
        all["rows"].push_back({{"bytes", row.bytes},
                               {"mdist_us", row.mdist_us},
                               {"mpi_us", row.mpi_us},
                               {"times", row.times},
                               {"wrong", row.wrong}});
    std::cout << all.dump(2) << "\n";
}

} // namespace mdist
