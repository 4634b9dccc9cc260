// SPDX-License-Identifier: Apache-2.0
// Environment: the environment variables and host names of a process, as an interface, so that tests can use their own.
//
// A variable that is set but empty counts as not set. The class Variables notes the variables it has read, for
// messages.
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
    /// Names and numeric addresses of this host, with "localhost" among them. Asks no name server.
    virtual std::vector<std::string> own_hosts() const = 0;
    /// Whether /etc/hosts has a loopback address for this name, as Debian's has for the host's own. Asks no name
    /// server.
    virtual bool means_loopback(const std::string &name) const = 0;
};

/// The environment of this process: getenv, gethostname, getifaddrs. As with getenv, no thread may change it meanwhile.
const Environment &process_environment();

/// Returns this host's first address that is neither loopback nor link-local, or "" if there is none.
std::string reachable_address(const Environment &environment);

/// Reads several variables and keeps their names. One thread.
class Variables {
  public:
    explicit Variables(const Environment &environment) : environment_(environment) {}

    bool has(const std::string &name) { return text(name).has_value(); }
    std::optional<std::string> text(const std::string &name);
    /// Throws CONFIG, reason "bad_value", for anything but digits, or more than 2^31 - 1.
    std::optional<std::uint32_t> count(const std::string &name);
    /// Throws CONFIG, reason "unusable", if the variable is not set.
    std::string need_text(const std::string &name);
    std::uint32_t need_count(const std::string &name);

    /// The variables that were read and set, in order, such as "RANK, WORLD_SIZE".
    const std::string &names() const { return names_; }
    const Environment &environment() const { return environment_; }

  private:
    [[noreturn]] void refuse_missing(const std::string &name) const;

    const Environment &environment_;
    std::vector<std::string> read_;
    std::string names_;
};

} // namespace mdist
