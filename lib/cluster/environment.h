// SPDX-License-Identifier: Apache-2.0
// Environment: what a process is told about itself from outside, as an interface, so that tests can give their own.
//
// A variable that is set but empty counts as not set. Variables notes which were asked for and there, for messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Environment {
  public:
    virtual ~Environment() = default;
    virtual std::optional<std::string> get(const std::string &name) const = 0;
    /// Names and numeric addresses that mean this host, "localhost" among them. Asks no name server.
    virtual std::vector<std::string> own_hosts() const = 0;
};

/// The one of this process: getenv, gethostname, getifaddrs. Like getenv, no thread may change it meanwhile.
const Environment &process_environment();

/// The first of this host's addresses that is neither loopback nor link-local; "" if there is none.
std::string reachable_address(const Environment &environment);

/// Reading several variables, and keeping their names. One thread.
class Variables {
  public:
    explicit Variables(const Environment &environment) : environment_(environment) {}

    bool has(const std::string &name) { return text(name).has_value(); }
    std::optional<std::string> text(const std::string &name);
    /// Throws CONFIG, reason "bad_value", for anything but digits, or more than 2^31 - 1.
    std::optional<std::uint32_t> count(const std::string &name);
    /// Throws CONFIG, reason "unusable", where it is not set.
    std::string need_text(const std::string &name);
    std::uint32_t need_count(const std::string &name);

    /// Those that were there, in order, such as "RANK, WORLD_SIZE".
    const std::string &names() const { return names_; }
    const Environment &environment() const { return environment_; }

  private:
    [[noreturn]] void refuse_missing(const std::string &name) const;

    const Environment &environment_;
    std::vector<std::string> read_;
    std::string names_;
};

} // namespace mdist
