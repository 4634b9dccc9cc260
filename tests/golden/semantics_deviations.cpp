// SPDX-License-Identifier: Apache-2.0
// The ways in which answers differ from TensorFlow's. Each way computes the right answer by its own arithmetic.
// docs/explanation/differences.md describes them for users.
#include "semantics.h"

#include <cmath>
#include <numeric>

namespace golden {
namespace {

bool failed(const Json &json, const char *error) {
    return json.is_object() && json.value("error", "") == error;
}

bool is_kind(const Json &given, const char *kind) {
    return given["kind"] == kind;
}

/// Converts a number as the cases were made: integers are cut off.
double number_of(const Json &given, double number) {
    return given["dt"].get<std::string>()[0] == 'i' ? std::trunc(number) : number;
}

const char *type_name(const Json &given) {
    return mdist_dtype_name(dtype_of(given["dt"]));
}

/// Returns the copies after a write outside of steps. `each`: each copy gets its replica's number; else all get the
/// first.
Json copies_written(const Json &given, bool each) {
    Json copies = Json::array();
    for (std::size_t i = 0; i < given["R"]; ++i) {
        double written = given["vals"][each ? i : 0];
        if (given["sync"] == "ON_READ" && given["agg"] == "SUM")
            written = number_of(given, written / given["R"].get<double>());
        const double before = given["op"] == "assign" ? 0 : given["init"].get<double>();
        copies.push_back({given["op"] == "assign_sub" ? before - written : before + written, type_name(given)});
    }
    return copies;
}

bool is_written(const Json &given, const Json &here, bool each) {
    if (here.contains("create") || !here["do"].is_null() || !agree(here["copies"], copies_written(given, each)))
        return false;
    double sum = 0;
    for (const Json &copy : here["copies"]) sum += copy[0].get<double>();
    if (given["sync"] == "ON_READ" && given["agg"] == "NONE")
        return failed(here["read"], "MDIST_ERR_FAILED_PRECONDITION");
    const bool adds = given["sync"] == "ON_READ" && (given["agg"] == "SUM" || given["agg"] == "MEAN");
    const double read = !adds                   ? here["copies"][0][0].get<double>()
                        : given["agg"] == "SUM" ? sum
                                                : sum / given["R"].get<double>();
    return agree(here["read"], Json::array({read, type_name(given)}));
}

bool mirrored_is_written(const Json &given, const Json &here, const Json &tensorflow) {
    return is_kind(given, "var") && given["where"] == "X mirrored" && failed(tensorflow["do"], "AssertionError") &&
           is_written(given, here, false);
}

bool each_copy_is_written(const Json &given, const Json &here, const Json &) {
    return is_kind(given, "var") && given["where"] == "X per_replica" && given["sync"] == "ON_READ" &&
           is_written(given, here, true);
}

bool is_written_without_a_read(const Json &given, const Json &here, const Json &tensorflow) {
    return is_kind(given, "var") && given["where"] == "X plain" && given["sync"] == "ON_READ" &&
           given["agg"] == "NONE" && is_written(given, here, false) && agree(here["copies"], tensorflow["copies"]);
}

bool a_mean_of_integers_is_refused(const Json &given, const Json &here, const Json &) {
    const bool has_axes = is_kind(given, "reduce") && !given["axes"].empty();
    return (is_kind(given, "reduce") || is_kind(given, "all_reduce")) && !has_axes && given["op"] == "MEAN" &&
           given["dt"].get<std::string>()[0] == 'i' && failed(here, "MDIST_ERR_INVALID_ARGUMENT");
}

bool all_reduce_is_right(const Json &given, const Json &here, const Json &tensorflow) {
    if (!is_kind(given, "all_reduce") || !failed(tensorflow, "InternalError")) return false;
    std::vector<double> sums(given["data"][0].size());
    for (const Json &numbers : given["data"])
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += number_of(given, numbers[i]);
    for (double &sum : sums) sum /= given["op"] == "MEAN" ? given["R"].get<double>() : 1;
    return agree(here, Json(given["R"].get<std::size_t>(), Json::array({sums, type_name(given)})));
}

/// Joins arrays along any axis. They are given as flat lists.
Json joined(const Json &given) {
    const auto rank = static_cast<int32_t>(given["shapes"][0].size());
    const int32_t axis = given["axis"].get<int32_t>() + (given["axis"] < 0 ? rank : 0);
    std::vector<uint64_t> shape = given["shapes"][0];
    const auto product = [](auto begin, auto end) {
        return std::accumulate(begin, end, uint64_t{1}, std::multiplies<>());
    };
    const uint64_t outer = product(shape.begin(), shape.begin() + axis);
    std::vector<double> all;
    for (uint64_t o = 0; o < outer; ++o)
        for (const std::vector<double> numbers : given["data"]) {
            const std::size_t row = numbers.size() / outer;
            all.insert(all.end(), numbers.begin() + o * row, numbers.begin() + (o + 1) * row);
        }
    shape[axis] = 0;
    for (const Json &each : given["shapes"]) shape[axis] += each[axis].get<uint64_t>();
    return shown(Array(given["dt"], shape, all).tensor());
}

bool gather_is_right(const Json &given, const Json &here, const Json &tensorflow, bool is_internal) {
    if (!is_kind(given, "gather") || given["shapes"][0].empty()) return false;
    if (is_internal ? !failed(tensorflow, "InternalError") : given["axis"] >= 0 || !failed(tensorflow, "ValueError"))
        return false;
    const Json one = joined(given);
    return agree(here, given["inside"] ? Json(given["R"].get<std::size_t>(), one) : one);
}

bool an_axis_is_asked_for(const Json &given, const Json &here, const Json &) {
    return is_kind(given, "gather") && given["R"] == 1 && given["axis"] >= -1 &&
           given["axis"] >= static_cast<int>(given["shapes"][0].size()) - (given["axis"] < 0 ? 1 : 0) &&
           failed(here, given["inside"] ? "MDIST_ERR_CALLBACK" : "MDIST_ERR_INVALID_ARGUMENT");
}

bool loss_counts_examples(const Json &given, const Json &here, const Json &) {
    if (!is_kind(given, "loss") || !given["G"].is_null()) return false;
    double examples = 0;
    for (const Json &each : given["per"]) examples += static_cast<double>(each.size());
    Json parts = Json::array();
    for (std::size_t i = 0; i < given["per"].size(); ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < given["per"][i].size(); ++k)
            sum += given["per"][i][k].get<double>() * (given["w"].is_null() ? 1 : given["w"][i][k].get<double>());
        parts.push_back({examples == 0 ? 0 : sum / examples, "float32"});
    }
    return agree(here, parts);
}

} // namespace

const std::vector<Deviation> &deviations() {
    static const std::vector<Deviation> all = {
        {"a mirrored value is assigned",
         "no answer from TensorFlow: its broadcast_to asserts on a list of devices; it assigns as here", 32,
         mirrored_is_written},
        {"a per-replica value is assigned to a sync-on-read variable",
         "TensorFlow has no such assignment and fails by accident (AttributeError); here each copy takes its own", 37,
         each_copy_is_written},
        {"a sync-on-read variable without aggregation is assigned outside of steps",
         "TensorFlow writes, then fails when it reads the variable for the result", 12, is_written_without_a_read},
        {"MEAN of integers without axes", "a result has the type of its inputs, which cannot hold a mean", 9,
         a_mean_of_integers_is_refused},
        {"all_reduce in TensorFlow's eager steps",
         "TensorFlow's collectives fail with an InternalError on several CPUs", 16, all_reduce_is_right},
        {"gather of uneven lengths in TensorFlow's eager mode", "the same InternalError", 6,
         [](const Json &given, const Json &here, const Json &tensorflow) {
             return gather_is_right(given, here, tensorflow, true);
         }},
        {"gather along a negative axis of uneven lengths", "TensorFlow compares the lengths along that axis too", 3,
         [](const Json &given, const Json &here, const Json &tensorflow) {
             return gather_is_right(given, here, tensorflow, false);
         }},
        {"gather of one replica along an axis that its value lacks",
         "TensorFlow returns the value unchecked; here one replica obeys the rules of several", 5,
         an_axis_is_asked_for},
        {"the mean loss of uneven batches",
         "here divided by the number of all examples; TensorFlow uses one replica's number times replicas", 6,
         loss_counts_examples},
    };
    return all;
}

} // namespace golden
