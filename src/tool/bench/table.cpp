// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace mdist {
namespace {

template <class... Arguments>
std::string formatted(const char *format, Arguments... arguments) {
    char text[256];
    std::snprintf(text, sizeof text, format, arguments...);
    return text;
}

/// Three digits, which keep columns narrow.
std::string time_text(double ns) {
    if (ns < 1e3) return formatted("%.0f ns", ns);
    const double value = ns < 1e6 ? ns / 1e3 : ns / 1e6;
    return formatted(value < 10 ? "%.2f %s" : value < 100 ? "%.1f %s" : "%.0f %s", value, ns < 1e6 ? "us" : "ms");
}

std::string signed_time_text(double ns) {
    std::string text(1, ns < 0 ? '-' : '+');
    return text += time_text(ns < 0 ? -ns : ns);
}

std::string judged_text(const Row &row) {
    switch (row.measure) {
        case Measure::kRatio:
            return formatted("%.2fx of at most %.2fx", row.value, row.goal);
        case Measure::kDifference:
            return signed_time_text(row.value) + " of at most " + signed_time_text(row.goal);
        case Measure::kTime:
            return time_text(row.value) + " of at most " + time_text(row.goal);
        case Measure::kGrowth:
            return formatted("growth %.2f of at most %.2f", row.value, row.goal);
        default:
            return "";
    }
}

using Line = std::vector<std::string>;

Line line_of(const Row &row) {
    const bool compared = !row.floor.empty();
    return {row.name,
            time_text(row.library_ns),
            compared ? time_text(row.floor_ns) : "",
            compared ? formatted("%.2fx", row.ratio) : "",
            judged_text(row),
            row.verdict(),
            row.disturbed() ? "disturbed by other programs" : row.note};
}

void print_lines(const std::vector<Line> &lines) {
    std::vector<std::size_t> widths(lines[0].size());
    for (const Line &line : lines)
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    for (const Line &line : lines) {
        std::string text;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const std::string gap(widths[i] - line[i].size(), ' ');
            const bool number = i >= 1 && i <= 3;
            if (i != 0) text += "  ";
            text += number ? gap + line[i] : line[i] + gap;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        std::printf("%s\n", text.c_str());
    }
}

} // namespace

std::string size_text(uint64_t bytes) {
    if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + " MiB";
    if (bytes >= 1 << 10) return std::to_string(bytes >> 10) + " KiB";
    return std::to_string(bytes) + " B";
}

void print_table(const Bench &bench) {
    const Machine &machine = bench.machine();
    std::printf("%s, %u CPUs usable of %u, %s, load %.1f\n", machine.model.c_str(), machine.usable_cpus,
                machine.online_cpus, machine.instruction_set.c_str(), machine.load);
    std::printf("medians; the ratio is the median of the ratios of rounds that measure both%s\n\n",
                bench.quick() ? "; --quick: too few rounds to judge by" : "");
    std::vector<Line> lines = {{"case", "library", "floor", "ratio", "goal", "", ""}};
    std::size_t judged = 0;
    std::size_t held = 0;
    for (const Row &row : bench.rows()) {
        lines.push_back(line_of(row));
        judged += row.measure != Measure::kNone;
        held += row.measure != Measure::kNone && row.holds();
    }
    print_lines(lines);
    std::printf("\nfloors\n");
    std::set<std::string> named;
    for (const Row &row : bench.rows())
        if (!row.floor.empty()) std::printf("    %-34s %s\n", row.name.c_str(), row.floor.c_str());
    std::printf("\n%zu of %zu goals hold\n", held, judged);
    std::fflush(stdout);
}

} // namespace mdist
