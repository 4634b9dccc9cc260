// SPDX-License-Identifier: Apache-2.0
// Prints the lines of `mdist bench --workers` to stdout: as they come for people, at the end for programs. One thread.
#pragma once

#include "bench/collective.h"

#include <string>
#include <vector>

namespace mdist {

struct WorkersRow {
    Case what;
    double ns;
    uint64_t wrong; // on all replicas

    double algorithm_gbs() const { return static_cast<double>(what.bytes()) / ns; }
    double bus_gbs() const { return algorithm_gbs() * what.collective->bus_factor(what.replicas); }
};

struct MeasuredJob {
    uint32_t replicas;
    uint32_t workers;
    std::string memory;
};

void print_job(const MeasuredJob &job);
void print_header(const Collective &collective);
void print_row(const WorkersRow &row);
void print_workers_json(const MeasuredJob &job, const std::vector<WorkersRow> &rows);

/// "sum", "mean" ...
const char *op_name(mdist_reduce_op_t op);

/// One size of `--beside mpi`.
struct BesideRow {
    uint64_t bytes;
    double mdist_us, mpi_us;
    double times; // how many times as fast libmdist is: the median of the rounds' own
    uint64_t wrong;
};

void print_beside_header(uint32_t workers, const std::string &mpi);
void print_beside_row(const BesideRow &row);
void print_beside_json(uint32_t workers, const std::string &mpi, const std::vector<BesideRow> &rows);

} // namespace mdist
