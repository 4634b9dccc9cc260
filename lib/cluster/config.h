// SPDX-License-Identifier: Apache-2.0
// Config: what was configured, key by key, with the place each value came from.
//
// Every value was checked when it was set, so reading one cannot fail; a key nobody set reads as its default. Every
// load is all or nothing. Later sources override earlier ones. Plain data: copy it freely; one thread at a time while
// it changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/config_keys.h"
#include "cluster/devices.h"

namespace mdist {

class Config {
  public:
    /// Failures are CONFIG and begin with the origin: "mdist_config_set", "MDIST_DEVICES", "cluster.yaml:3:12".
    void set(std::string_view key, std::string_view value, std::string_view origin);

    /// Back to its default.
    void clear(std::string_view key);

    /// A regular file of YAML. NOT_FOUND, IO (reason "permission" where that is why) and RESOURCE carry errno as native
    /// code; CONFIG with reason "not_regular" for directories, pipes and devices, "too_large" past yaml::kMostBytes.
    void load_file(const std::string &path);

    /// `name` stands for the text in origins and messages.
    void load_text(std::string_view yaml, std::string_view name);

    /// The file that MDIST_CONFIG names, then each MDIST_<KEY>; an empty variable counts as not set. Unknown MDIST_*
    /// variables are a warning each.
    void load_environment();

    /// Getters: an unknown key is CONFIG, reason "unknown_key". The typed ones are for keys of their type.
    std::string get(std::string_view key) const { return std::string(text(key)); }
    /// Valid while the config is not changed.
    std::string_view text(std::string_view key) const;
    std::uint64_t duration_ns(std::string_view key) const;
    std::uint64_t bytes(std::string_view key) const;
    /// 0 for a key without a default that nobody set.
    std::uint64_t count(std::string_view key) const;
    std::vector<std::string> list(std::string_view key) const;
    /// By `devices`, or by `num_gpus` or `num_gpus_per_worker`. Throws CONFIG, reason "contradiction", where several of
    /// these are set: of the keys only these depend on each other.
    std::vector<DeviceName> devices() const;

    bool is_set(std::string_view key) const;
    /// "default" where nobody set it.
    std::string origin(std::string_view key) const;
    /// Whether load_environment had its say: only then do launchers' variables mean this config.
    bool is_from_environment() const { return is_from_environment_; }

    bool operator==(const Config &) const = default;

  private:
    struct Setting {
        std::string value;
        std::string origin;
        bool operator==(const Setting &) const = default;
    };

    std::map<std::string, Setting, std::less<>> settings_;
    bool is_from_environment_ = false;
};

} // namespace mdist
