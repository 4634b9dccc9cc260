// SPDX-License-Identifier: Apache-2.0
// Row: one measured case, as the table and the JSON show it. Times in nanoseconds per operation.
//
// The machine is shared and noisy: medians over rounds, and the median of the rounds' own ratios, which the slow drift
// of a machine cancels out of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// What a goal is about.
enum class Measure : uint8_t {
    kNone,       // no goal: for information
    kRatio,      // library / floor
    kDifference, // library - floor, ns
    kTime,       // library, ns
    kGrowth,     // time over 2 replicas' time, divided by the same for memory traffic
};

struct Row {
    std::string name;
    uint32_t replicas = 0;
    uint64_t bytes = 0; // per replica
    std::string floor;  // what it was; empty: there is none
    double library_ns = 0;
    double library_best_ns = 0;
    double floor_ns = 0;
    double floor_best_ns = 0;
    double ratio = 0; // median of the rounds' ratios
    double difference_ns = 0;
    unsigned rounds = 0;
    Measure measure = Measure::kNone;
    double value = 0; // to be compared with the goal
    double goal = 0;
    std::string note;

    /// Samples by round; `floor` may be empty.
    void set_times(const std::vector<double> &library, const std::vector<double> &floor);
    void set_goal(Measure measure, double goal);
    void set_growth(double growth, double goal);
    bool holds() const { return value <= goal; }
    const char *verdict() const { return measure == Measure::kNone ? "" : holds() ? "ok" : "over"; }
    const char *measure_name() const;
    /// Medians far from the best: other programs had the cores for most of the time, and nothing can be said.
    bool disturbed() const { return library_ns > 3 * library_best_ns || floor_ns > 3 * floor_best_ns; }
};

double median(std::vector<double> values);

} // namespace mdist
