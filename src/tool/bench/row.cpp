// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <algorithm>

namespace mdist {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 != 0) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void Row::set_times(const std::vector<double> &library, const std::vector<double> &bare) {
    rounds = static_cast<unsigned>(library.size());
    library_ns = median(library);
    library_best_ns = *std::min_element(library.begin(), library.end());
    if (bare.empty()) return;
    floor_ns = median(bare);
    floor_best_ns = *std::min_element(bare.begin(), bare.end());
    std::vector<double> ratios;
    std::vector<double> differences;
    for (std::size_t i = 0; i < library.size(); ++i) {
        ratios.push_back(library[i] / bare[i]);
        differences.push_back(library[i] - bare[i]);
    }
    ratio = median(ratios);
    difference_ns = median(differences);
}

void Row::set_goal(Measure what, double most) {
    measure = what;
    goal = most;
    value = what == Measure::kRatio ? ratio : what == Measure::kDifference ? difference_ns : library_ns;
}

void Row::set_growth(double growth, double most) {
    measure = Measure::kGrowth;
    value = growth;
    goal = most;
}

const char *Row::measure_name() const {
    switch (measure) {
        case Measure::kRatio:
            return "ratio";
        case Measure::kDifference:
            return "difference_ns";
        case Measure::kTime:
            return "time_ns";
        case Measure::kGrowth:
            return "growth";
        default:
            return "none";
    }
}

} // namespace mdist
