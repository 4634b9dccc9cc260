// SPDX-License-Identifier: Apache-2.0
// Config: the settings of a job, key by key, with the place where each value was set.
//
// Every value is checked when it is set, so reading one cannot fail. A key that was not set reads as its default. A
// load sets all of its values, or none if it fails. Later sources override earlier ones. Plain data: copy it freely;
// one thread at a time while it changes.
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
    /// Sets a key. Throws CONFIG; the message begins with the origin: "mdist_config_set", "MDIST_DEVICES",
    /// "cluster.yaml:3:12".
    void set(std::string_view key, std::string_view value, std::string_view origin);

    /// Sets a key back to its default.
    void clear(std::string_view key);

    /// Loads a regular file of YAML. Throws NOT_FOUND, IO (reason "permission" if that is the cause) and RESOURCE, with
    /// errno as native code. Throws CONFIG, reason "not_regular" for directories, pipes and devices, or "too_large" for
    /// more than yaml::kMostBytes.
    void load_file(const std::string &path);

    /// Loads a text of YAML. `name` names it in origins and messages.
    void load_text(std::string_view yaml, std::string_view name);

    /// Loads the file that MDIST_CONFIG names, then each MDIST_<KEY>. An empty variable counts as not set. Logs a
    /// warning for each unknown MDIST_* variable.
    void load_environment();

    /// Getters throw CONFIG, reason "unknown_key", for an unknown key. The typed getters are for keys of their type.
    std::string get(std::string_view key) const { return std::string(text(key)); }
    /// The result is valid until the config changes.
    std::string_view text(std::string_view key) const;
    std::uint64_t duration_ns(std::string_view key) const;
    std::uint64_t bytes(std::string_view key) const;
    /// Returns 0 for a key that has no default and was not set.
    std::uint64_t count(std::string_view key) const;
    std::vector<std::string> list(std::string_view key) const;
    /// Returns the devices that `devices`, `num_gpus` or `num_gpus_per_worker` names. Throws CONFIG, reason
    /// "contradiction", if more than one of them is set. No other keys depend on each other.
    std::vector<DeviceName> devices() const;

    bool is_set(std::string_view key) const;
    /// Returns where a key was set, or "default" if it was not.
    std::string origin(std::string_view key) const;
    /// Whether load_environment() was called. Only then do the variables of launchers apply to this config.
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
