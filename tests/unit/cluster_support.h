// SPDX-License-Identifier: Apache-2.0
// Support for the tests of clusters: an environment made by hand, and a config that takes it for its own.
#pragma once

#include "config_support.h"

#include <map>

#include "cluster/config.h"
#include "cluster/environment.h"

class FakeEnvironment : public mdist::Environment {
  public:
    using Variables = std::map<std::string, std::string>;

    FakeEnvironment(Variables variables = {}) : variables_(std::move(variables)) {}
    std::optional<std::string> get(const std::string &name) const override {
        auto found = variables_.find(name);
        if (found == variables_.end() || found->second.empty()) return std::nullopt;
        return found->second;
    }
    std::vector<std::string> own_hosts() const override { return hosts; }

    bool means_loopback(const std::string &name) const override { return name == loopback_name; }

    std::string loopback_name;
    std::vector<std::string> hosts{"localhost", "n7", "127.0.0.1", "10.0.0.2", "::1"};

  private:
    Variables variables_;
};

/// From YAML, and (as far as resolving goes) from the environment.
inline mdist::Config environment_config(const std::string &yaml = "") {
    clear_environment();
    mdist::Config config;
    config.load_environment();
    config.load_text(yaml, "c.yaml");
    return config;
}

inline mdist::Config plain_config(const std::string &yaml) {
    mdist::Config config;
    config.load_text(yaml, "c.yaml");
    return config;
}
