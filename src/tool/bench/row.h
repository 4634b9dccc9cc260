// SPDX-License-Identifier: Apache-2.0
// Row: one measured case, as the table and the JSON show it. Times are in nanoseconds per operation.
//
// The machine is shared and noisy. A row therefore has medians over rounds, and the median of each round's own ratio.
// Slow drift of the machine cancels out of those ratios.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// The measure that a goal limits.
enum class Measure : uint8_t {
    kNone,       // no goal: for information
    kRatio,      // library / floor
    kDifference, // library - floor, ns
    kTime,       // library, ns
    kGrowth,     // time relative to 2 replicas, divided by the same for memory traffic
};

struct Row {
    std::string name;
    uint32_t replicas = 0;
    uint64_t bytes = 0; // per replica
    std::string floor;  // what the floor was; empty: there is none
    double library_ns = 0;
    double library_best_ns = 0;
    double floor_ns = 0;
    double floor_best_ns = 0;
    double ratio = 0; // median of the rounds' ratios
    double difference_ns = 0;
    unsigned rounds = 0;
    Measure measure = Measure::kNone;
    double value = 0; // compared with the goal
    double goal = 0;
    std::string note;

    /// Takes samples by round; `floor` may be empty.
    void set_times(const std::vector<double> &library, const std::vector<double> &floor);
    void set_goal(Measure measure, double goal);
    void set_growth(double growth, double goal);
    bool holds() const { return value <= goal; }
    const char *verdict() const { return measure == Measure::kNone ? "" : holds() ? "ok" : "over"; }
    const char *measure_name() const;
    /// Whether medians are far from the best times. Then other programs had the cores most of the time, and the row
    /// says nothing.
    bool disturbed() const { return library_ns > 3 * library_best_ns || floor_ns > 3 * floor_best_ns; }
};

double median(std::vector<double> values);

} // namespace mdist
