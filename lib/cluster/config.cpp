// SPDX-License-Identifier: Apache-2.0
#include "cluster/config.h"

#include "cluster/config_values.h"
#include "cluster/words.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"
#include "util/yaml.h"

namespace mdist {

namespace {

/// Adds the place to a failure's sentence.
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

} // namespace mdist
