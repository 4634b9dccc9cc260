// SPDX-License-Identifier: Apache-2.0
// Replays the kinds reduce, gather, all_reduce and loss, which combine the numbers of all replicas.
#include "semantics.h"

namespace golden {
namespace {

std::vector<Array> arrays_of(const Json &given) {
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < given["data"].size(); ++i) {
        const std::vector<double> numbers = given["data"][i];
        arrays.emplace_back(given["dt"],
                            given.contains("shapes") ? given["shapes"][i].get<std::vector<uint64_t>>()
                                                     : std::vector<uint64_t>{numbers.size()},
                            numbers);
    }
    return arrays;
}

mdist_reduce_op_t op_of(const Json &given) {
    return given["op"] == "SUM" ? MDIST_SUM : MDIST_MEAN;
}

struct Gather {
    int32_t axis;
    mdist_status_t status;
};

int32_t gather_merged(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t, mdist_value_t **results,
                      size_t, void *user_data) {
    auto &self = *static_cast<Gather *>(user_data);
    return self.status = mdist_strategy_gather(strategy, arguments[0], self.axis, &results[0], nullptr, nullptr);
}

/// Gathers in a step. To join along any axis, a step uses a merge.
Json gather_in_step(const Json &given, std::vector<Array> &arrays) {
    Gather gather = {given["axis"], MDIST_OK};
    Json joined(given["R"].get<std::size_t>(), nullptr);
    const Json failed = run(strategy_of(given["R"]), [&](mdist_replica_t *replica, uint32_t id) {
        const mdist_tensor_t own = arrays[id].tensor();
        mdist_tensor_t all;
        const mdist_status_t status =
            mdist_merge_call(replica, gather_merged, &gather, &own, 1, &all, 1, nullptr, nullptr);
        if (status == MDIST_OK) joined[id] = shown(all);
        return status;
    });
    return failed.is_null() ? joined : failed;
}

} // namespace

Json replay_reduce(const Json &given) {
    mdist_strategy_t *const strategy = strategy_of(given["R"]);
    std::vector<Array> arrays = arrays_of(given);
    mdist_value_t *const value = per_replica(strategy, arrays);
    mdist_value_t *out = nullptr;
    const std::vector<int32_t> axes = given["axes"];
    const Json failed = outcome(
        mdist_strategy_reduce_axes(strategy, op_of(given), value, axes.data(), axes.size(), &out, nullptr, nullptr));
    mdist_value_destroy(value);
    return failed.is_null() ? shown(out) : failed;
}

Json replay_gather(const Json &given) {
    mdist_strategy_t *const strategy = strategy_of(given["R"]);
    std::vector<Array> arrays = arrays_of(given);
    if (given["inside"]) return gather_in_step(given, arrays);
    mdist_value_t *const value = per_replica(strategy, arrays);
    mdist_value_t *out = nullptr;
    const Json failed = outcome(mdist_strategy_gather(strategy, value, given["axis"], &out, nullptr, nullptr));
    mdist_value_destroy(value);
    return failed.is_null() ? shown(out) : failed;
}

Json replay_all_reduce(const Json &given) {
    std::vector<Array> arrays = arrays_of(given), results = arrays_of(given);
    const Json failed = run(strategy_of(given["R"]), [&](mdist_replica_t *replica, uint32_t id) {
        const mdist_buffer_t in = arrays[id].buffer();
        const mdist_buffer_t out = results[id].buffer();
        return mdist_all_reduce(replica, op_of(given), &in, &out, 1, nullptr, nullptr);
    });
    if (!failed.is_null()) return failed;
    Json all = Json::array();
    for (Array &result : results) all.push_back(shown(result.tensor()));
    return all;
}

Json replay_loss(const Json &given) {
    std::vector<Array> losses, weights;
    for (std::size_t i = 0; i < given["per"].size(); ++i) {
        const std::vector<double> each = given["per"][i];
        losses.emplace_back("f4", std::vector<uint64_t>{each.size()}, each);
        if (!given["w"].is_null())
            weights.emplace_back("f4", std::vector<uint64_t>{each.size()}, given["w"][i].get<std::vector<double>>());
    }
    Json parts(losses.size(), nullptr);
    const Json failed = run(strategy_of(given["R"]), [&](mdist_replica_t *replica, uint32_t id) {
        const mdist_tensor_t own = losses[id].tensor();
        const mdist_tensor_t weight = weights.empty() ? mdist_tensor_t() : weights[id].tensor();
        uint64_t examples = given["G"].is_null() ? 0 : given["G"].get<uint64_t>();
        double part = 0;
        const mdist_status_t status =
            mdist_average_loss(replica, &own, weights.empty() ? nullptr : &weight, &examples, &part, nullptr, nullptr);
        parts[id] = Json::array({part, "float32"}); // TensorFlow computes losses in float32
        return status;
    });
    return failed.is_null() ? parts : failed;
}

} // namespace golden
