// SPDX-License-Identifier: Apache-2.0
// Shared by all kinds of cases: arrays, strategies, steps, and results in the form of TensorFlow's answers.
#include "semantics.h"

#include <cmath>

namespace golden {
namespace {

/// Calls `visit` with a number of the C type of `dtype`.
template <class Visit>
auto with_type(int32_t dtype, Visit &&visit) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return visit(float{});
        case MDIST_INT32:
            return visit(int32_t{});
        case MDIST_INT64:
            return visit(int64_t{});
        default:
            return visit(double{});
    }
}

Json nested(const mdist_tensor_t &tensor, int32_t dimension, std::size_t &next) {
    if (dimension == tensor.rank)
        return with_type(tensor.dtype,
                         [&](auto type) { return Json(static_cast<const decltype(type) *>(tensor.data)[next++]); });
    Json list = Json::array();
    for (uint64_t i = 0; i < tensor.shape[dimension]; ++i) list.push_back(nested(tensor, dimension + 1, next));
    return list;
}

struct Step {
    const std::function<mdist_status_t(mdist_replica_t *, uint32_t)> &call;
};

int32_t step_of(mdist_replica_t *replica, void *user_data) {
    return static_cast<Step *>(user_data)->call(replica, mdist_replica_id(replica));
}

bool close(double a, double b, bool single) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return std::fabs(a - b) <= (single ? 2e-6 : 4e-15) * std::max(1.0, std::fabs(b));
}

/// Compares two lists of numbers. TensorFlow's NaN is null here.
bool numbers_agree(const Json &here, const Json &wanted, bool single) {
    if (here.is_array() != wanted.is_array()) return false;
    if (!here.is_array())
        return close(here.get<double>(), wanted.is_null() ? std::nan("") : wanted.get<double>(), single);
    if (here.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < here.size(); ++i)
        if (!numbers_agree(here[i], wanted[i], single)) return false;
    return true;
}

bool is_tensor(const Json &json) {
    return json.is_array() && json.size() == 2 && json[1].is_string();
}

} // namespace

mdist_dtype_t dtype_of(const std::string &code) {
    return code == "f4" ? MDIST_FLOAT32 : code == "f8" ? MDIST_FLOAT64 : code == "i4" ? MDIST_INT32 : MDIST_INT64;
}

Array::Array(const std::string &code, std::vector<uint64_t> shape, const std::vector<double> &numbers)
    : dtype_(dtype_of(code)), shape_(std::move(shape)), bytes_(numbers.size() * mdist_dtype_size(dtype_)) {
    with_type(dtype_, [&](auto type) {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto number = static_cast<decltype(type)>(numbers[i]);
            std::memcpy(bytes_.data() + i * sizeof number, &number, sizeof number);
        }
    });
}

mdist_tensor_t Array::tensor() {
    mdist_error_t *error = nullptr;
    mdist_tensor_t out;
    OK(mdist_tensor_describe(bytes_.data(), dtype_, shape_.data(), shape_.size(), &out, &error));
    return out;
}

mdist_buffer_t Array::buffer() {
    return buffer_of(bytes_.data(), dtype_, bytes_.size() / mdist_dtype_size(dtype_));
}

Json shown(const mdist_tensor_t &tensor) {
    std::size_t next = 0;
    return Json::array({nested(tensor, 0, next), mdist_dtype_name(static_cast<mdist_dtype_t>(tensor.dtype))});
}

Json shown(mdist_value_t *value) {
    mdist_error_t *error = nullptr;
    mdist_tensor_t tensor;
    OK(mdist_value_tensor(value, 0, &tensor, &error));
    Json json = shown(tensor);
    mdist_value_destroy(value);
    return json;
}

Json outcome(mdist_status_t status) {
    return status == MDIST_OK ? Json() : Json{{"error", mdist_status_name(status)}};
}

mdist_strategy_t *strategy_of(uint32_t replicas) {
    static std::map<uint32_t, mdist_strategy_t *> made;
    if (!made.contains(replicas)) made[replicas] = make_strategy(replicas, nullptr);
    return made[replicas];
}

mdist_value_t *per_replica(mdist_strategy_t *strategy, std::vector<Array> &arrays) {
    mdist_error_t *error = nullptr;
    mdist_value_t *value = nullptr;
    std::vector<mdist_tensor_t> tensors;
    for (Array &array : arrays) tensors.push_back(array.tensor());
    OK(mdist_value_per_replica(strategy, tensors.data(), tensors.size(), &value, &error));
    return value;
}

Json run(mdist_strategy_t *strategy, const std::function<mdist_status_t(mdist_replica_t *, uint32_t)> &step) {
    Step each{step};
    return outcome(mdist_run(strategy, step_of, &each, NULL, nullptr));
}

bool agree(const Json &here, const Json &tensorflow) {
    const auto failed = [](const Json &json) { return json.is_object() && json.contains("error"); };
    if (failed(here) || failed(tensorflow)) return failed(here) && failed(tensorflow);
    if (is_tensor(here) && is_tensor(tensorflow))
        return here[1] == tensorflow[1] && numbers_agree(here[0], tensorflow[0], here[1] == "float32");
    if (here.size() != tensorflow.size() || here.type() != tensorflow.type()) return false;
    if (here.is_object())
        for (const auto &[key, value] : here.items())
            if (!tensorflow.contains(key) || !agree(value, tensorflow[key])) return false;
    if (here.is_array())
        for (std::size_t i = 0; i < here.size(); ++i)
            if (!agree(here[i], tensorflow[i])) return false;
    return true;
}

} // namespace golden
