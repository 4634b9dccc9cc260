// SPDX-License-Identifier: Apache-2.0
#include "cluster/environment.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "cluster/config_values.h"
#include "cluster/names.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

namespace {

std::string numeric(const sockaddr *address) {
    char buffer[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in *>(address)->sin_addr, buffer, sizeof buffer);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr, buffer, sizeof buffer);
    return buffer;
}

std::string host_name() {
    char name[256] = "";
    return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

class ProcessEnvironment : public Environment {
  public:
    std::optional<std::string> get(const std::string &name) const override {
        const char *value = std::getenv(name.c_str());
        if (value == nullptr || *value == '\0') return std::nullopt;
        return value;
    }

    std::vector<std::string> own_hosts() const override {
        std::vector<std::string> hosts{"localhost"};
        if (std::string name = host_name(); !name.empty()) hosts.push_back(name);
        ifaddrs *list = nullptr;
        if (getifaddrs(&list) != 0) return hosts;
        std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
        for (const ifaddrs *entry = list; entry != nullptr; entry = entry->ifa_next) {
            if (entry->ifa_addr == nullptr) continue;
            if (std::string address = numeric(entry->ifa_addr); !address.empty()) hosts.push_back(address);
        }
        return hosts;
    }

    bool means_loopback(const std::string &name) const override {
        std::ifstream hosts("/etc/hosts");
        for (std::string line; std::getline(hosts, line);) {
            std::istringstream words(line.substr(0, line.find('#')));
            std::string address;
            words >> address;
            for (std::string word; words >> word;)
                if (word == name) return address.starts_with("127.") || address == "::1"; // the first line counts
        }
        return false;
    }
};

} // namespace

const Environment &process_environment() {
    static const ProcessEnvironment environment;
    return environment;
}

std::string reachable_address(const Environment &environment) {
    auto is_near = [](std::string_view host) {
        return host.starts_with("127.") || host.starts_with("169.254.") || host == "::1" || host.starts_with("fe80:");
    };
    for (const std::string &host : environment.own_hosts()) {
        unsigned char bytes[16];
        bool is_number = inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
        if (is_number && !is_near(host)) return host;
    }
    return "";
}

std::optional<std::string> Variables::text(const std::string &name) {
    auto value = environment_.get(name);
    if (value && value->empty()) value.reset();
    if (value && std::find(read_.begin(), read_.end(), name) == read_.end()) {
        read_.push_back(name);
        names_ += mdist::text(names_.empty() ? "" : ", ", name);
    }
    return value;
}

std::optional<std::uint32_t> Variables::count(const std::string &name) {
    auto value = text(name);
    if (!value) return std::nullopt;
    try {
        return static_cast<std::uint32_t>(parse_count(trimmed(*value)));
    } catch (const Failure &failure) {
        throw Failure(MDIST_ERR_CONFIG, mdist::text(name, ": ", failure.message())).reason("bad_value");
    }
}

void Variables::refuse_missing(const std::string &name) const {
    throw Failure(MDIST_ERR_CONFIG,
                  mdist::text(name, " is not set", names_.empty() ? "" : mdist::text(", though ", names_, " is")))
        .reason("unusable");
}

std::string Variables::need_text(const std::string &name) {
    auto value = text(name);
    if (!value) refuse_missing(name);
    return *value;
}

std::uint32_t Variables::need_count(const std::string &name) {
    auto value = count(name);
    if (!value) refuse_missing(name);
    return *value;
}

} // namespace mdist
