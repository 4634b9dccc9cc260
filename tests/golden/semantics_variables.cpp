// SPDX-License-Identifier: Apache-2.0
// Replays the kinds var and rows: creates a variable, writes it once, and looks at it.
#include "run_io.h"
#include "semantics.h"

namespace golden {
namespace {

mdist_assign_t assign_of(const std::string &op) {
    static const std::map<std::string, mdist_assign_t> words = {
        {"assign", MDIST_ASSIGN_SET},         {"assign_add", MDIST_ASSIGN_ADD},  {"assign_sub", MDIST_ASSIGN_SUB},
        {"scatter_update", MDIST_ASSIGN_SET}, {"scatter_add", MDIST_ASSIGN_ADD}, {"scatter_sub", MDIST_ASSIGN_SUB},
        {"scatter_mul", MDIST_ASSIGN_MUL},    {"scatter_div", MDIST_ASSIGN_DIV}, {"scatter_min", MDIST_ASSIGN_MIN},
        {"scatter_max", MDIST_ASSIGN_MAX},
    };
    return words.at(op);
}

mdist_status_t create(const Json &given, Array initial, mdist_variable_t **out) {
    static const std::map<std::string, int32_t> aggregations = {
        {"NONE", MDIST_AGGREGATION_NONE},
        {"SUM", MDIST_AGGREGATION_SUM},
        {"MEAN", MDIST_AGGREGATION_MEAN},
        {"ONLY_FIRST_REPLICA", MDIST_AGGREGATION_ONLY_FIRST_REPLICA},
    };
    mdist_variable_options_t options = {};
    options.struct_size = sizeof options;
    options.synchronization = given["sync"] == "ON_READ" ? MDIST_SYNC_ON_READ : MDIST_SYNC_ON_WRITE;
    options.aggregation = aggregations.at(given["agg"]);
    const mdist_tensor_t tensor = initial.tensor();
    return mdist_variable_create(strategy_of(given["R"]), "v", &tensor, out, &options, nullptr);
}

/// Returns {"do": outcome of the write, "copies": ..., "read": ...}. Destroys the variable.
Json looked_at(const Json &given, mdist_variable_t *variable, Json written) {
    mdist_error_t *error = nullptr;
    mdist_value_t *value = nullptr;
    Json copies = Json::array();
    for (uint32_t i = 0; i < given["R"]; ++i) {
        mdist_tensor_t copy;
        OK(mdist_variable_tensor(variable, i, &copy, &error));
        copies.push_back(shown(copy));
    }
    const Json failed = outcome(mdist_variable_read(variable, &value, nullptr, nullptr));
    Json seen = {{"do", std::move(written)}, {"copies", copies}, {"read", failed.is_null() ? shown(value) : failed}};
    mdist_variable_destroy(variable);
    return seen;
}

struct Update {
    mdist_variable_t *variable;
    mdist_assign_t assign;
};

int32_t update_copy(uint32_t, const mdist_tensor_t *, const mdist_tensor_t *arguments, size_t, mdist_value_t **, size_t,
                    void *user_data) {
    const auto &self = *static_cast<const Update *>(user_data);
    mdist_value_t *value = nullptr;
    mdist_status_t status = mdist_value_create(&arguments[0], &value, nullptr);
    if (status == MDIST_OK) status = mdist_variable_assign(self.variable, self.assign, value, nullptr);
    mdist_value_destroy(value);
    return status;
}

/// Writes outside of steps, with one value for all copies or one for each.
Json write_outside(mdist_variable_t *variable, mdist_assign_t assign, const std::string &where,
                   mdist_strategy_t *strategy, std::vector<Array> &arrays) {
    mdist_error_t *error = nullptr;
    mdist_value_t *value = nullptr;
    const mdist_tensor_t first = arrays[0].tensor();
    if (where == "X plain")
        OK(mdist_value_create(&first, &value, &error));
    else if (where == "X mirrored")
        OK(mdist_strategy_broadcast(strategy, &first, &value, &error));
    else
        value = per_replica(strategy, arrays);
    Update update = {variable, assign};
    const Json written =
        outcome(where == "U" ? mdist_update(variable, update_copy, &update, io_of(&value, 1, nullptr, 0).get(), nullptr)
                             : mdist_variable_assign(variable, assign, value, nullptr));
    mdist_value_destroy(value);
    return written;
}

/// Writes in a step. With `twice`, replicas write their numbers, then the same numbers in reverse order.
Json write_in_step(mdist_variable_t *variable, mdist_assign_t assign, bool twice, mdist_strategy_t *strategy,
                   std::vector<Array> &arrays) {
    return run(strategy, [&](mdist_replica_t *replica, uint32_t id) {
        mdist_tensor_t tensor = arrays[id].tensor();
        mdist_status_t status = mdist_replica_assign(replica, variable, assign, &tensor, nullptr, nullptr);
        if (status != MDIST_OK || !twice) return status;
        tensor = arrays[arrays.size() - 1 - id].tensor();
        return mdist_replica_assign(replica, variable, assign, &tensor, nullptr, nullptr);
    });
}

} // namespace

Json replay_variable(const Json &given) {
    mdist_variable_t *variable = nullptr;
    const std::string code = given["dt"];
    const mdist_status_t created = create(given, Array(code, {}, {given["init"].get<double>()}), &variable);
    if (created != MDIST_OK) return {{"create", outcome(created)}};
    std::vector<Array> arrays;
    for (const Json &number : given["vals"])
        arrays.emplace_back(code, std::vector<uint64_t>(), std::vector<double>{number});
    const std::string where = given["where"];
    const mdist_assign_t assign = assign_of(given["op"]);
    mdist_strategy_t *const strategy = strategy_of(given["R"]);
    return looked_at(given, variable,
                     where[0] == 'R' ? write_in_step(variable, assign, where == "R twice", strategy, arrays)
                                     : write_outside(variable, assign, where, strategy, arrays));
}

Json replay_rows(const Json &given) {
    mdist_variable_t *variable = nullptr;
    const std::string code = given["dt"];
    const std::vector<double> initial = given["init"];
    const mdist_status_t created = create(given, Array(code, {initial.size()}, initial), &variable);
    if (created != MDIST_OK) return {{"create", outcome(created)}};
    std::vector<Array> indices, rows;
    for (std::size_t i = 0; i < given["idx"].size(); ++i) {
        const std::vector<double> which = given["idx"][i];
        indices.emplace_back("i8", std::vector<uint64_t>{which.size()}, which);
        rows.emplace_back(code, std::vector<uint64_t>{which.size()}, given["vals"][i].get<std::vector<double>>());
    }
    const mdist_assign_t assign = assign_of(given["op"]);
    Json written = run(strategy_of(given["R"]), [&](mdist_replica_t *replica, uint32_t id) {
        const mdist_tensor_t where = indices[id].tensor();
        const mdist_tensor_t what = rows[id].tensor();
        return mdist_replica_assign_sparse(replica, variable, assign, &where, &what, nullptr, nullptr);
    });
    return looked_at(given, variable, std::move(written));
}

} // namespace golden
