// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <iostream>

#include <nlohmann/json.hpp>

namespace mdist {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Row &row) {
    Json json;
    json["name"] = row.name;
    json["replicas"] = row.replicas;
    json["bytes"] = row.bytes;
    json["library_ns"] = row.library_ns;
    json["library_best_ns"] = row.library_best_ns;
    const bool compared = !row.floor.empty();
    json["floor"] = compared ? Json(row.floor) : Json();
    json["floor_ns"] = compared ? Json(row.floor_ns) : Json();
    json["floor_best_ns"] = compared ? Json(row.floor_best_ns) : Json();
    json["ratio"] = compared ? Json(row.ratio) : Json();
    json["rounds"] = row.rounds;
    const bool judged = row.measure != Measure::kNone;
    json["measure"] = judged ? Json(row.measure_name()) : Json();
    json["value"] = judged ? Json(row.value) : Json();
    json["goal"] = judged ? Json(row.goal) : Json();
    json["verdict"] = judged ? Json(row.verdict()) : Json();
    json["disturbed"] = row.disturbed();
    json["note"] = row.note;
    return json;
}

} // namespace

void print_json(const Bench &bench) {
    const Machine &machine = bench.machine();
    Json all;
    all["version"] = mdist_version();
    all["quick"] = bench.quick();
    all["machine"] = {{"model", machine.model},
                      {"usable_cpus", machine.usable_cpus},
                      {"online_cpus", machine.online_cpus},
                      {"instruction_set", machine.instruction_set},
                      {"memory_bytes", machine.memory_bytes},
                      {"load", machine.load}};
    all["cases"] = Json::array();
    for (const Row &row : bench.rows()) all["cases"].push_back(json_of(row));
    std::cout << all.dump(2) << "\n";
}

} // namespace mdist
