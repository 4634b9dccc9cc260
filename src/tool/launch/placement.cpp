// SPDX-License-Identifier: Apache-2.0
#include "launch/placement.h"

#include "counted.h"
#include "launch/discovery.h"
#include "launch/hosts.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace mdist {
namespace {

constexpr uint32_t kMostWorkers = 4096;

/// Parses a whole text as a number up to kMostWorkers. `what` names it in the error.
uint32_t parse_number(const std::string &text, const std::string &what) {
    uint32_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size() || number > kMostWorkers)
        throw UsageError(what + ": \"" + text + "\" is not a number from 0 to " + std::to_string(kMostWorkers));
    return number;
}

uint32_t parse_workers(const std::string &text, uint32_t usable_cpus) {
    return text == "auto" ? usable_cpus : parse_count(text, "-n");
}

/// Takes "2:4" apart; 0 and the whole text if it has no colon.
std::pair<uint32_t, std::string> parse_range(const std::string &text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return {0, text};
    const uint32_t least = parse_number(text.substr(0, colon), "-n");
    const uint32_t most = parse_number(text.substr(colon + 1), "-n");
    if (least == 0 || most < 2 || least > most)
        throw UsageError("-n " + text + ": write MIN:MAX, with MIN from 1 and MAX from 2, as in 2:4");
    return {least, text.substr(colon + 1)};
}

std::vector<std::string> split(const std::string &list) {
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

bool is_this_host(const std::string &name) {
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    const std::string full = own;
    return name == "localhost" || name == "::1" || name.starts_with("127.") || name == full ||
           name == full.substr(0, full.find('.'));
}

/// "alpha:2", "alpha", "[fe80::1]:2". `where` names its place in the error.
Host parse_host(const std::string &text, const std::string &where) {
    const bool brackets = text.starts_with('[');
    const std::size_t closing = brackets ? text.find(']') : 0;
    Host host;
    const std::size_t colon = closing == std::string::npos ? closing : text.find(':', closing);
    if (closing != std::string::npos)
        host.name = brackets ? text.substr(1, closing - 1) : text.substr(0, std::min(colon, text.size()));
    if (colon != std::string::npos) host.workers = parse_number(text.substr(colon + 1), where + " " + text);
    const bool complete = colon != std::string::npos || !brackets || closing + 1 == text.size();
    const bool blank = host.name.find_first_of(" \t\r\n=") != std::string::npos; // as in a file of hosts
    if (!complete || host.name.empty() || blank || host.name.starts_with('-') || host.workers == 0)
        throw UsageError(where + ": \"" + text +
                         "\" is not a valid host with a number of workers; write alpha:2,beta:2, or an IPv6 address as "
                         "in [fe80::1]:2");
    host.remote = !is_this_host(host.name);
    return host;
}

/// Adds up the workers of a host that is named twice.
void add_host(std::vector<Host> &hosts, const Host &next) {
    const auto known =
        std::find_if(hosts.begin(), hosts.end(), [&](const Host &host) { return host.name == next.name; });
    if (known == hosts.end())
        hosts.push_back(next);
    else
        known->workers += next.workers;
}

/// The option that names hosts; empty if there is none.
std::string naming_option(const LaunchOptions &options) {
    std::string named;
    for (const auto &[name, value] : {std::pair("--hosts", &options.hosts), std::pair("--hostfile", &options.hostfile),
                                      std::pair("--discover", &options.discover)}) {
        if (value->empty()) continue;
        if (!named.empty()) throw UsageError(named + " and " + name + " both name hosts; leave out one of them");
        named = name;
    }
    return named;
}

std::vector<Host> hosts_of(const LaunchOptions &options) {
    if (!options.hostfile.empty()) return hosts_of_lines(read_hostfile(options.hostfile));
    if (!options.discover.empty()) return Discovery::ask(options.discover);
    std::vector<Host> hosts;
    for (const std::string &part : split(options.hosts)) hosts.push_back(parse_host(part, "--hosts"));
    return hosts;
}

Placement place_on_hosts(const std::string &named, const LaunchOptions &options, uint32_t usable_cpus) {
    const auto [least, workers] = parse_range(options.workers);
    if (options.per_node != 0 || options.nodes != 1 || options.node_rank != 0)
        throw UsageError(named + " already names the nodes; leave out --per-node, --nodes and --node-rank");
    const bool grows = named == "--discover";
    if (grows && least == 0)
        throw UsageError("--discover needs an elastic job, which can follow its hosts; write -n MIN:MAX, as in -n 2:4");
    const std::vector<Host> hosts = hosts_of(options);
    uint32_t room = 0;
    for (const Host &host : hosts) room += host.workers;
    uint32_t left = workers.empty() ? room : parse_workers(workers, usable_cpus);
    if (left > room && !grows)
        throw UsageError("-n " + options.workers + ": " + named + " has room for " + counted(room, "worker"));
    if (room > kMostWorkers) throw UsageError(named + ": more than " + std::to_string(kMostWorkers) + " workers");
    Placement placement;
    if (least != 0) {
        for (const Host &host : hosts) add_host(placement.hosts, host);
        placement.nodes = static_cast<uint32_t>(placement.hosts.size());
        placement.least = least;
        placement.size = left;
        placement.places = Hosts(placement, std::nullopt).first(0, left);
        return placement;
    }
    placement.nodes = 0;
    for (const Host &host : hosts) {
        const uint32_t here = std::min(left, host.workers);
        for (uint32_t i = 0; i < here; ++i)
            placement.places.push_back({placement.size++, i, here, placement.nodes, host.name, host.remote});
        left -= here;
        if (here != 0) ++placement.nodes;
    }
    return placement;
}

} // namespace

Placement place_workers(const LaunchOptions &options, uint32_t usable_cpus) {
    const auto [least, workers] = parse_range(options.workers);
    const std::string named = naming_option(options);
    if (!named.empty()) return place_on_hosts(named, options, usable_cpus);
    if (options.node_rank >= options.nodes)
        throw UsageError("--node-rank " + std::to_string(options.node_rank) + ": there are " +
                         std::to_string(options.nodes) + " nodes, counted from 0");
    if (options.workers.empty() == (options.per_node == 0))
        throw UsageError(
            "give the number of workers: -n 4 or -n auto, --per-node 2 on each of several nodes, --hosts or "
            "--hostfile");
    const uint32_t given = workers.empty() ? 0 : parse_workers(workers, usable_cpus);
    if (given % options.nodes != 0)
        throw UsageError("-n " + options.workers + " cannot be divided evenly among " + std::to_string(options.nodes) +
                         " nodes");
    const uint32_t here = given != 0 ? given / options.nodes : options.per_node;
    if (uint64_t{here} * options.nodes > kMostWorkers)
        throw UsageError("more than " + std::to_string(kMostWorkers) + " workers");
    Placement placement;
    placement.nodes = options.nodes;
    placement.least = least;
    placement.size = here * options.nodes;
    placement.first_node = options.node_rank;
    placement.hosts = {{"localhost", here, false}};
    for (uint32_t i = 0; i < here; ++i)
        placement.places.push_back({options.node_rank * here + i, i, here, options.node_rank, "localhost", false});
    return placement;
}

std::vector<Host> hosts_of_lines(const std::vector<HostLine> &lines) {
    std::vector<Host> hosts;
    for (const HostLine &line : lines) add_host(hosts, parse_host(line.host, line.where));
    return hosts;
}

uint32_t parse_count(const std::string &text, const std::string &what) {
    const uint32_t workers = parse_number(text, what);
    if (workers == 0) throw UsageError(what + " 0: a job needs at least one worker");
    return workers;
}

WorkerRange parse_worker_range(const std::string &text) {
    const auto [least, most] = parse_range(text);
    return {least, parse_count(most, "-n")};
}

std::vector<bool> parse_ranks(const std::string &list, uint32_t size) {
    std::vector<bool> chosen(size, false);
    const std::string what = "--quiet-ranks " + list;
    for (const std::string &part : split(list)) {
        const std::size_t dash = part.find('-');
        const uint32_t first = parse_number(part.substr(0, dash), what);
        uint32_t last = first;
        if (dash != std::string::npos)
            last = dash + 1 == part.size() ? std::max(first, size - 1) : parse_number(part.substr(dash + 1), what);
        if (last < first) throw UsageError(what + ": \"" + part + "\" ends before it begins");
        for (uint32_t rank = first; rank <= last && rank < size; ++rank) chosen[rank] = true;
    }
    return chosen;
}

} // namespace mdist
