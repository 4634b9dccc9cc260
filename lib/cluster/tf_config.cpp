// SPDX-License-Identifier: Apache-2.0
#include "cluster/tf_config.h"

#include <optional>

#include "cluster/config_values.h"
#include "util/failure.h"
#include "util/json.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

Failure bad_json(std::string message) {
    return Failure(MDIST_ERR_CONFIG, std::move(message)).reason("bad_json");
}

Json parsed(std::string_view json) {
    try {
        return parse_json(json, kMostTfConfigDepth);
    } catch (const JsonFault &fault) {
        throw bad_json(fault.what());
    }
}

std::optional<std::string> text_at(const Json &object, const char *key, std::string_view place) {
    const Json *const found = object.find(key);
    if (found == nullptr || found->is_null()) return std::nullopt;
    if (!found->is(Json::Kind::kText))
        throw bad_json(text(place, key, " is ", found->shown(), "; it must be a string"));
    return found->text;
}

std::uint32_t index_of(std::string_view digits, std::string_view place) {
    try {
        return static_cast<std::uint32_t>(parse_count(digits));
    } catch (const Failure &) {
        throw bad_json(text(place, " is ", mdist::in_quotes(digits), "; it must be a whole number from 0"));
    }
}

void add_address(Cluster &cluster, Task task, const Json &address, std::string_view place) {
    if (!address.is(Json::Kind::kText) || address.text.empty())
        throw bad_json(text(place, " is ", address.shown(), "; it must be an address, \"host:port\""));
    cluster.add(task, address.text);
}

void add_job(Cluster &cluster, const std::string &job, const Json &tasks) {
    const TaskType type = parse_task_type(job);
    const std::string place = text("cluster.", job);
    cluster.add_job(type);
    if (tasks.is(Json::Kind::kObject)) {
        for (const auto &[key, member] : tasks.keys)
            add_address(cluster, {type, index_of(key, text(place, ": the index"))}, tasks.members[member],
                        text(place, '[', mdist::in_quotes(key), ']'));
        return;
    }
    if (!tasks.is(Json::Kind::kList) && !tasks.is(Json::Kind::kNumbers))
        throw bad_json(text(place, " is ", tasks.shown(), "; it must be a list of addresses or {\"index\": address}"));
    if (!tasks.numbers.empty())
        throw bad_json(text(place, "[0] is ", tasks.numbers[0], "; it must be an address, \"host:port\""));
    if (tasks.members.size() > kMostTasks) throw bad_json(text(place, " has more than ", kMostTasks, " addresses"));
    for (std::uint32_t index = 0; index < tasks.members.size(); ++index)
        add_address(cluster, {type, index}, tasks.members[index], text(place, '[', index, ']'));
}

std::optional<std::uint32_t> task_index(const Json &task) {
    const Json *const found = task.find("index");
    if (found == nullptr || found->is_null()) return std::nullopt;
    if (found->is(Json::Kind::kText)) return index_of(found->text, "task.index");
    const std::string shown = found->shown();
    if (found->is(Json::Kind::kNumber)) return index_of(shown, "task.index");
    if (found->is(Json::Kind::kWord) && shown.ends_with(".0")) // some writers of JSON make 1.0 of 1
        return index_of(shown.substr(0, shown.size() - 2), "task.index");
    throw bad_json(text("task.index is ", shown, "; it must be a whole number from 0"));
}

Task task_of(const Json &root) {
    static const Json kNone;
    const Json *found = root.find("task");
    if (found == nullptr || found->is_null()) found = &kNone;
    if (found != &kNone && !found->is(Json::Kind::kObject))
        throw bad_json(text("task is ", found->shown(), "; it must be {\"type\": ..., \"index\": ...}"));
    const auto type = text_at(*found, "type", "task.");
    const auto index = task_index(*found);
    if (!type || !index)
        throw Failure(MDIST_ERR_CONFIG, text("it has a cluster but no task.", type ? "index" : "type",
                                             ". Set it, so that this process knows which task it is"))
            .reason("bad_cluster");
    return {parse_task_type(*type), *index};
}

Cluster cluster_of(std::string_view json) {
    if (json.size() > kMostTfConfigBytes)
        throw Failure(MDIST_ERR_CONFIG, text("longer than ", kMostTfConfigBytes, " bytes")).reason("too_large");
    Cluster cluster;
    const Json root = parsed(json);
    if (!root.is(Json::Kind::kObject))
        throw bad_json(text("is ", root.shown(), "; it must be an object, {\"cluster\": ...}"));
    if (auto master = text_at(root, "session_master", "")) cluster.set_master(*master);
    if (auto layer = text_at(root, "rpc_layer", "")) cluster.set_rpc_layer(*layer);
    const Json *const jobs = root.find("cluster");
    if (jobs == nullptr) return cluster;
    if (!jobs->is(Json::Kind::kObject))
        throw bad_json(text("cluster is ", jobs->shown(), "; it must be {\"worker\": [...]}"));
    for (const auto &[job, tasks] : jobs->keys) add_job(cluster, job, jobs->members[tasks]);
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
