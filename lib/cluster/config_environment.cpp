// SPDX-License-Identifier: Apache-2.0
// Config from the environment, which is read and never written.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cluster/config.h"
#include "cluster/words.h"
#include "util/failure.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

/// The value, or "" where it is not set.
std::string variable(const std::string &name) {
    const char *value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
}

std::vector<std::string> known_variables() {
    std::vector<std::string> names;
    for (const ConfigKey &key : config_keys()) names.push_back(key.environment_name());
    names.insert(names.end(), reserved_variables().begin(), reserved_variables().end());
    return names;
}

/// The names in the environment that begin with MDIST_ and mean nothing here, in order.
std::set<std::string> unknown_variables(const std::vector<std::string> &known) {
    std::set<std::string> unknown;
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        std::string_view line = *entry;
        std::string name(line.substr(0, line.find('=')));
        if (name.starts_with("MDIST_") && std::find(known.begin(), known.end(), name) == known.end())
            unknown.insert(std::move(name));
    }
    return unknown;
}

void warn_of_unknown_variables() {
    if (!log::enabled(MDIST_LOG_WARN)) return;
    auto known = known_variables();
    for (const std::string &name : unknown_variables(known)) {
        std::string_view nearest = nearest_name(name, known);
        log_warn("the environment variable ", quoted(name), " is no configuration key and was not read",
                 nearest.empty() ? std::string() : text("; did you mean ", nearest, "?"));
    }
}

} // namespace

void Config::load_environment() {
    Config next = *this;
    next.is_from_environment_ = true;
    if (std::string path = variable("MDIST_CONFIG"); !path.empty()) {
        try {
            next.load_file(path);
        } catch (const Failure &failure) {
            throw Failure(failure.status(), mdist::text("MDIST_CONFIG: ", failure.message()))
                .reason(failure.reason())
                .native(failure.native());
        }
    }
    for (const ConfigKey &key : config_keys()) {
        std::string name = key.environment_name();
        if (std::string value = variable(name); !value.empty()) next.set(key.name, value, name);
    }
    warn_of_unknown_variables();
    *this = std::move(next);
}

} // namespace mdist
