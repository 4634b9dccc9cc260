// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/json.h"

#include "util/text.h"

#include <set>
#include <utility>
#include <vector>

namespace mdist {
namespace {

constexpr int kDeepest = 4; // a header's tensor's list's number

/// Watches the parser: refuses nesting that is too deep, and keys given twice.
class Watch {
  public:
    bool operator()(int depth, Json::parse_event_t event, const Json &value) {
        if (depth > kDeepest) throw bad_data(text("its JSON is nested deeper than ", kDeepest));
        if (event == Json::parse_event_t::object_start) keys_.emplace_back();
        if (event == Json::parse_event_t::object_end) keys_.pop_back();
        if (event == Json::parse_event_t::key) {
            const auto &key = value.get_ref<const std::string &>();
            if (!keys_.back().insert(key).second)
                throw bad_data(text("the key ", mdist::quoted(key), " is given twice"));
        }
        return true;
    }

  private:
    std::vector<std::set<std::string>> keys_;
};

} // namespace

Failure bad_data(std::string message) {
    return {MDIST_ERR_DATA_LOSS, std::move(message)};
}

Json parse_json(std::string_view json) {
    Watch watch;
    try {
        return Json::parse(json.begin(), json.end(), [&](int depth, Json::parse_event_t event, Json &value) {
            return watch(depth, event, value);
        });
    } catch (const Json::parse_error &error) {
        throw bad_data(text("no valid JSON at byte ", error.byte));
    } catch (const Json::exception &) { // a number past every range
        throw bad_data("its JSON holds a number that is too large");
    }
}

std::string shown(const Json &value) {
    if (value.is_string()) return mdist::quoted(value.get_ref<const std::string &>());
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    return value.dump();
}

} // namespace mdist
