// SPDX-License-Identifier: Apache-2.0
// The only user of nlohmann-json in the library.
#include "cluster/tf_config.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/config_values.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

using Json = nlohmann::json;

Failure bad_json(std::string message) {
    return Failure(MDIST_ERR_CONFIG, std::move(message)).reason("bad_json");
}

std::string place_of(std::string_view text, std::size_t byte) {
    std::string_view before = text.substr(0, std::min(text.size(), byte == 0 ? 0 : byte - 1));
    auto line = 1 + std::count(before.begin(), before.end(), '\n');
    auto column = before.size() - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
    return mdist::text("line ", line, ", column ", column);
}

/// Watches the parser: refuses nesting that is too deep, and keys given twice.
class Watch {
  public:
    bool operator()(int depth, Json::parse_event_t event, const Json &value) {
        if (depth > kMostTfConfigDepth) throw bad_json(text("nested deeper than ", kMostTfConfigDepth));
        if (event == Json::parse_event_t::object_start) keys_.emplace_back();
        if (event == Json::parse_event_t::object_end) keys_.pop_back();
        if (event == Json::parse_event_t::key) {
            const auto &key = value.get_ref<const std::string &>();
            if (!keys_.back().insert(key).second)
                throw bad_json(text("the key ", mdist::quoted(key), " is given twice"));
        }
        return true;
    }

  private:
    std::vector<std::set<std::string>> keys_;
};

Json parsed(std::string_view json) {
    Watch watch;
    try {
        // The parser copies what it is given to call.
        return Json::parse(json.begin(), json.end(), [&](int depth, Json::parse_event_t event, Json &value) {
            return watch(depth, event, value);
        });
    } catch (const Json::parse_error &error) {
        throw bad_json(text("no valid JSON at ", place_of(json, error.byte)));
    } catch (const Json::exception &) { // a number past every range
        throw bad_json("holds a number that is too large");
    }
}

/// How a value is shown in a sentence.
std::string shown(const Json &value) {
    if (value.is_string()) return mdist::quoted(value.get_ref<const std::string &>());
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    return value.dump();
}

std::optional<std::string> text_at(const Json &object, const char *key, std::string_view place) {
    auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_string()) throw bad_json(text(place, key, " is ", shown(*found), "; it is a text"));
    return found->get<std::string>();
}

std::uint32_t index_of(std::string_view digits, std::string_view place) {
    try {
        return static_cast<std::uint32_t>(parse_count(digits));
    } catch (const Failure &) {
        throw bad_json(text(place, " is ", mdist::quoted(digits), "; it is a whole number from 0"));
    }
}

void add_address(Cluster &cluster, Task task, const Json &address, std::string_view place) {
    if (!address.is_string() || address.get_ref<const std::string &>().empty())
        throw bad_json(text(place, " is ", shown(address), "; it is an address, \"host:port\""));
    cluster.add(task, address.get_ref<const std::string &>());
}

void add_job(Cluster &cluster, const std::string &job, const Json &tasks) {
    TaskType type = parse_task_type(job);
    std::string place = text("cluster.", job);
    cluster.add_job(type);
    if (tasks.is_array()) {
        if (tasks.size() > kMostTasks) throw bad_json(text(place, " has more than ", kMostTasks, " addresses"));
        for (std::uint32_t index = 0; index < tasks.size(); ++index)
            add_address(cluster, {type, index}, tasks[index], text(place, '[', index, ']'));
    } else if (tasks.is_object()) {
        for (const auto &[key, address] : tasks.items())
            add_address(cluster, {type, index_of(key, text(place, ": the index"))}, address,
                        text(place, '[', mdist::quoted(key), ']'));
    } else {
        throw bad_json(text(place, " is ", shown(tasks), "; it is a list of addresses or {\"index\": address}"));
    }
}

std::optional<std::uint32_t> task_index(const Json &task) {
    auto found = task.find("index");
    if (found == task.end() || found->is_null()) return std::nullopt;
    if (found->is_string()) return index_of(found->get_ref<const std::string &>(), "task.index");
    if (!found->is_number_integer()) throw bad_json(text("task.index is ", shown(*found), "; it is a whole number"));
    return index_of(found->dump(), "task.index");
}

Task task_of(const Json &root) {
    auto found = root.find("task");
    if (found != root.end() && !found->is_null() && !found->is_object())
        throw bad_json(text("task is ", shown(*found), "; it is {\"type\": ..., \"index\": ...}"));
    const Json task = found != root.end() && found->is_object() ? *found : Json::object();
    auto type = text_at(task, "type", "task.");
    auto index = task_index(task);
    if (!type || !index)
        throw Failure(MDIST_ERR_CONFIG, text("it has a cluster and no task.", type ? "index" : "type",
                                             ", so which task this process is stays open"))
            .reason("bad_cluster");
    return {parse_task_type(*type), *index};
}

Cluster cluster_of(std::string_view json) {
    if (json.size() > kMostTfConfigBytes)
        throw Failure(MDIST_ERR_CONFIG, text("longer than ", kMostTfConfigBytes, " bytes")).reason("too_large");
    Cluster cluster;
    const Json root = parsed(json);
    if (!root.is_object()) throw bad_json(text("is ", shown(root), "; it is an object, {\"cluster\": ...}"));
    if (auto master = text_at(root, "session_master", "")) cluster.set_master(*master);
    if (auto layer = text_at(root, "rpc_layer", "")) cluster.set_rpc_layer(*layer);
    auto jobs = root.find("cluster");
    if (jobs == root.end()) return cluster;
    if (!jobs->is_object()) throw bad_json(text("cluster is ", shown(*jobs), "; it is {\"worker\": [...]}"));
    for (const auto &[job, tasks] : jobs->items()) add_job(cluster, job, tasks);
    if (cluster.empty()) return cluster;
    cluster.set_task(task_of(root));
    cluster.check(cluster.task());
    return cluster;
}

} // namespace

Cluster parse_tf_config(std::string_view json, std::string_view name) {
    try {
        return cluster_of(json);
    } catch (const Failure &failure) {
        throw Failure(failure.status(), text(name, ": ", failure.message())).reason(failure.reason());
    }
}

} // namespace mdist
