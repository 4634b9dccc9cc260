// SPDX-License-Identifier: Apache-2.0
#include "cluster/config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cluster/config_values.h"
#include "cluster/names.h"
#include "cluster/secret_file.h"
#include "util/failure.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"
#include "util/utf8.h"
#include "util/yaml.h"

namespace mdist {

namespace {

/// Runs `function`, and puts the place in front of a failure's message.
template <typename Function>
auto at(std::string_view origin, Function function) {
    try {
        return function();
    } catch (const Failure &failure) {
        throw Failure(failure.status(), mdist::text(origin, ": ", failure.message())).reason(failure.reason());
    }
}

std::string joined(const ConfigKey &key, const yaml::Entry &entry) {
    if (!entry.is_list) return entry.values.front();
    if (!key.is_list())
        throw Failure(MDIST_ERR_CONFIG, mdist::text(key.name, " takes one value, not a list")).reason("bad_value");
    std::string list;
    for (std::size_t i = 0; i < entry.values.size(); ++i) list += mdist::text(i == 0 ? "" : ",", entry.values[i]);
    return list;
}

/// Returns the value of a variable, or "" if it is not set.
std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::vector<std::string> known_variables() {
    std::vector<std::string> names;
    for (const ConfigKey &key : config_keys()) names.emplace_back(key.environment);
    names.insert(names.end(), reserved_variables().begin(), reserved_variables().end());
    return names;
}

/// Returns the sorted names of variables that begin with MDIST_ but are not known.
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
        log_warn("the environment variable ", in_quotes(name), " is not a configuration key, so it was not read",
                 nearest.empty() ? std::string() : text("; did you mean ", nearest, "?"));
    }
}

} // namespace

void Config::set(std::string_view key, std::string_view value, std::string_view origin) {
    at(origin, [&] {
        const ConfigKey &known = config_key(key);
        Setting setting{checked_value(known, value), std::string(origin)};
        settings_.insert_or_assign(known.name, std::move(setting));
    });
}

void Config::clear(std::string_view key) {
    settings_.erase(config_key(key).name);
}

void Config::load_text(std::string_view yaml, std::string_view name) {
    Config next = *this;
    for (const yaml::Entry &entry : yaml::read(yaml, name)) {
        auto place = yaml::place_text(name, entry.value_place);
        const ConfigKey &key = *at(yaml::place_text(name, entry.key_place), [&] { return &config_key(entry.key); });
        next.set(key.name, at(place, [&] { return joined(key, entry); }), place);
    }
    *this = std::move(next);
}

void Config::load_file(const std::string &path) {
    load_text(read_regular_file(path, "configuration file", yaml::kMostBytes), path);
}

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
        if (std::string value = variable(key.environment); !value.empty()) next.set(key.name, value, key.environment);
    }
    warn_of_unknown_variables();
    *this = std::move(next);
}

std::string_view Config::text(std::string_view key) const {
    auto found = settings_.find(key);
    return found != settings_.end() ? std::string_view(found->second.value) : config_key(key).default_text;
}

std::uint64_t Config::duration_ns(std::string_view key) const {
    return parse_duration_ns(text(key));
}

std::uint64_t Config::bytes(std::string_view key) const {
    return parse_bytes(text(key));
}

std::uint64_t Config::count(std::string_view key) const {
    std::string_view value = text(key);
    return value.empty() ? 0 : parse_count(value);
}

std::vector<std::string> Config::list(std::string_view key) const {
    return split_list(text(key));
}

std::vector<DeviceName> Config::devices() const {
    const char *set = "devices";
    for (const char *key : {"num_gpus", "num_gpus_per_worker"}) {
        if (!is_set(key)) continue;
        if (is_set(set))
            throw Failure(MDIST_ERR_CONFIG,
                          mdist::text(set, " (", origin(set), ") and ", key, " (", origin(key),
                                      ") are both set; they say the same thing, so set only one of them"))
                .reason("contradiction");
        set = key;
    }
    return set == std::string_view("devices") ? parse_devices(text("devices")) : first_gpus(count(set));
}

bool Config::is_set(std::string_view key) const {
    config_key(key);
    return settings_.contains(key);
}

std::string Config::origin(std::string_view key) const {
    config_key(key);
    auto found = settings_.find(key);
    return found != settings_.end() ? found->second.origin : "default";
}

std::string read_secret(const Config &config) {
    constexpr std::size_t kMostBytes = 4096;
    const std::string path(config.text("secret_file"));
    if (path.empty()) return "";
    std::string secret = read_regular_file(path, "secret file", kMostBytes, true);
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
    if (secret.size() < kShortestSecret)
        throw Failure(MDIST_ERR_CONFIG,
                      text(config.origin("secret_file"), ": the secret file ", in_quotes(path), " holds ",
                           secret.size(), " bytes; a secret has at least ", kShortestSecret,
                           " random bytes, since shorter ones and passwords can be guessed. Write one with: mdist "
                           "secret ",
                           path, " --force"))
            .reason("bad_value");
    return secret;
}

} // namespace mdist
