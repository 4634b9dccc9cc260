// SPDX-License-Identifier: Apache-2.0
#include "env.h"

#include "handles.h"
#include "keys.h"
#include "machine.h"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace mdist {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFeatures[] = {"avx2", "avx512", "cuda", "nccl", "shm", "secret"};

std::string version_text() {
    const uint32_t version = mdist_version();
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

std::vector<std::string> lines_of(const std::string &text) {
    std::istringstream all(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
}

std::string value_of(const mdist_config_t *config, const char *key) {
    mdist_error_t *error = nullptr;
    size_t needed = 0;
    require_ok(mdist_config_get(config, key, nullptr, 0, &needed, &error), error);
    std::vector<char> text(needed);
    require_ok(mdist_config_get(config, key, text.data(), text.size(), nullptr, &error), error);
    return text.data();
}

/// The library's description of the GPUs, line by line.
Json gpus() {
    mdist_error_t *error = nullptr;
    uint32_t count = 0;
    size_t needed = 0;
    require_ok(mdist_gpu_count(&count, nullptr, 0, &needed, &error), error);
    std::vector<char> text(needed);
    require_ok(mdist_gpu_count(&count, text.data(), text.size(), nullptr, &error), error);
    return {{"count", count}, {"told", lines_of(text.data())}};
}

std::string device_of(const mdist_strategy_t *strategy, uint32_t local_replica) {
    char text[64];
    mdist_error_t *error = nullptr;
    require_ok(mdist_strategy_device(strategy, local_replica, text, sizeof text, nullptr, &error), error);
    return text;
}

std::vector<std::string> explanation_of(const mdist_cluster_t *cluster) {
    mdist_error_t *error = nullptr;
    size_t needed = 0;
    require_ok(mdist_cluster_explain(cluster, nullptr, 0, &needed, &error), error);
    std::vector<char> text(needed);
    require_ok(mdist_cluster_explain(cluster, text.data(), text.size(), nullptr, &error), error);
    return lines_of(text.data());
}

/// Which worker this is in its cluster, and which settings were ignored to find out.
Json cluster_of(const mdist_config_t *config) {
    mdist_cluster_t *found = nullptr;
    mdist_error_t *error = nullptr;
    require_ok(mdist_cluster_from_config(config, &found, &error), error);
    const ClusterHandle cluster(found);
    mdist_task_info_t own{};
    own.struct_size = sizeof own;
    require_ok(mdist_cluster_describe_task(found, MDIST_TASK_NONE, 0, &own, &error), error);
    Json json = {{"rank", own.rank}, {"workers", own.worker_count}, {"is_chief", own.is_chief != 0}};
    constexpr std::string_view kPassedOver = "passed over ";
    json["found"] = Json::array();
    json["passed_over"] = Json::array();
    for (const std::string &line : explanation_of(found))
        if (line.compare(0, kPassedOver.size(), kPassedOver) == 0)
            json["passed_over"].push_back(line.substr(kPassedOver.size()));
        else
            json["found"].push_back(line);
    return json;
}

/// The links that would move bytes between workers, and why the others would not. It asks no other worker.
std::vector<std::string> links_of(const Json &all) {
    const auto workers = all["cluster"]["workers"].get<unsigned>();
    const auto wanted = all["config"]["communication.implementation"].get<std::string>();
    if (workers == 1) return {"none: there is one worker, and its replicas share its memory"};
    const std::string chosen = "communication.implementation is " + wanted;
    const bool sockets = wanted == "tcp";
    std::vector<std::string> lines;
    lines.push_back(sockets ? "no shared memory: " + chosen
                            : "shared memory with workers of this host (" + chosen + ")");
    if (wanted == "shm")
        lines.push_back("no tcp: " + chosen + ", so a strategy with workers on other hosts cannot be made");
    else
        lines.push_back(sockets ? "tcp with all workers: " + chosen : "tcp with workers of other hosts");
    return lines;
}

/// Adds the keys as the environment sets them, the cluster, and this worker's devices or the reason why there are none.
/// It joins no job: the strategy that reports the devices consists of this worker alone.
void add_strategy(Json &all) {
    try {
        const ConfigHandle config = make_config();
        mdist_error_t *error = nullptr;
        require_ok(mdist_config_load_environment(config.get(), &error), error);
        for (const mdist_config_key_t &key : config_keys()) all["config"][key.name] = value_of(config.get(), key.name);
        all["cluster"] = cluster_of(config.get());
        require_ok(mdist_config_set(config.get(), "strategy", "mirrored", &error), error);
        const StrategyHandle strategy = make_strategy(config.get());
        for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy.get()); ++i)
            all["replicas"].push_back(device_of(strategy.get(), i));
        all["links"] = links_of(all);
    } catch (const std::runtime_error &failure) {
        all["error"] = failure.what();
    }
}

Json environment() {
    const Machine machine = this_machine();
    Json all;
    all["version"] = version_text();
    all["cpus"] = {{"usable", machine.usable_cpus}, {"online", machine.online_cpus}, {"model", machine.model}};
    for (const char *feature : kFeatures) all["features"][feature] = mdist_has(feature) != 0;
    all["gpus"] = gpus();
    add_strategy(all);
    return all;
}

void print_text(const Json &all) {
    std::printf("libmdist  %s\n", all["version"].get<std::string>().c_str());
    const Json &cpus = all["cpus"];
    std::printf("CPUs      %u usable of %u (%s)\n", cpus["usable"].get<unsigned>(), cpus["online"].get<unsigned>(),
                cpus["model"].get<std::string>().c_str());
    std::string with;
    std::string without;
    for (const auto &[feature, there] : all["features"].items()) (there.get<bool>() ? with : without) += " " + feature;
    std::printf("features %s; not:%s\n", with.empty() ? " none" : with.c_str(), without.c_str());
    const Json &gpus = all["gpus"];
    if (gpus["count"] == 0) std::printf("GPUs      none: ");
    for (const auto &line : gpus["told"])
        std::printf("%s%s\n", gpus["count"] == 0 ? "" : "GPUs      ", line.get<std::string>().c_str());
    if (all.contains("cluster")) {
        for (const auto &line : all["cluster"]["found"]) std::printf("cluster   %s\n", line.get<std::string>().c_str());
        for (const auto &line : all["cluster"]["passed_over"])
            std::printf("    not by %s\n", line.get<std::string>().c_str());
    }
    if (all.contains("replicas")) {
        std::string devices;
        for (const auto &device : all["replicas"]) devices += " " + device.get<std::string>();
        std::printf("replicas  %zu, on%s\n", all["replicas"].size(), devices.c_str());
    }
    if (all.contains("links"))
        for (const auto &line : all["links"]) std::printf("links     %s\n", line.get<std::string>().c_str());
    if (!all.contains("config")) return;
    std::printf("config    from the environment\n");
    for (const auto &[key, value] : all["config"].items()) {
        const std::string text = value.get<std::string>();
        std::printf("    %-34s%s\n", key.c_str(), text.empty() ? "-" : text.c_str());
    }
}

} // namespace

int print_environment(bool json) {
    const Json all = environment();
    if (json) {
        std::cout << all.dump(2) << "\n";
    } else {
        print_text(all);
        std::fflush(stdout);
    }
    if (!all.contains("error")) return 0;
    std::cerr << "mdist: no strategy from this environment: " << all["error"].get<std::string>() << "\n";
    return 1;
}

std::string version_line() {
    return "mdist " + version_text();
}

} // namespace mdist
