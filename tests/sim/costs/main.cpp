// SPDX-License-Identifier: Apache-2.0
// costs: tells how long each way of a collective takes in a simulated job, as lines of a table:
// network, hosts, workers of a host, pattern, bytes, way, microseconds, messages.
//
// usage: costs [OPTION VALUE]...
//   --hosts N, --per-host N, --bytes N      simulate these; may be given again
//   --wire NAME:LATENCY_US:GBIT             likewise
//   --pattern NAME                          only this one
//   --cores N, --shared-cores N             of each host (one for each worker); of all hosts together
//   --set NAME=NS                           another value for a constant of model.h
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "network.h"
#include "ways.h"

namespace {

using namespace mdist::costs;

struct Asked {
    std::vector<uint32_t> hosts, per_host;
    std::vector<std::size_t> bytes;
    std::vector<Wire> wires;
    std::string pattern;
    uint32_t cores = 0, shared = 0;
    Machine machine;
};

Wire wire_of(const std::string &text) {
    const std::size_t first = text.find(':'), second = text.find(':', first + 1);
    return {text.substr(0, first), std::atof(text.c_str() + first + 1) * 1000,
            8 / std::atof(text.c_str() + second + 1)};
}

void set_constant(Machine &machine, const std::string &text) {
    const std::map<std::string, double *> constants = {
        {"wake", &machine.wake_ns},           {"turn", &machine.turn_ns},
        {"switch", &machine.switch_ns},       {"message", &machine.message_ns},
        {"byte", &machine.byte_ns},           {"near_message", &machine.near_message_ns},
        {"near_byte", &machine.near_byte_ns}, {"near_latency", &machine.near_latency_ns},
        {"sum_byte", &machine.sum_byte_ns}};
    const std::size_t equals = text.find('=');
    const auto constant = constants.find(text.substr(0, equals));
    if (constant == constants.end()) throw std::invalid_argument(text + " names no constant of model.h");
    *constant->second = std::atof(text.c_str() + equals + 1);
}

Asked read(int count, char **arguments) {
    Asked asked;
    const auto number = [](const std::string &text) { return static_cast<uint32_t>(std::stoul(text)); };
    const std::map<std::string, std::function<void(const std::string &)>> options = {
        {"--hosts", [&](const std::string &value) { asked.hosts.push_back(number(value)); }},
        {"--per-host", [&](const std::string &value) { asked.per_host.push_back(number(value)); }},
        {"--bytes", [&](const std::string &value) { asked.bytes.push_back(std::stoul(value)); }},
        {"--pattern", [&](const std::string &value) { asked.pattern = value; }},
        {"--cores", [&](const std::string &value) { asked.cores = number(value); }},
        {"--shared-cores", [&](const std::string &value) { asked.cores = asked.shared = number(value); }},
        {"--wire", [&](const std::string &value) { asked.wires.push_back(wire_of(value)); }},
        {"--set", [&](const std::string &value) { set_constant(asked.machine, value); }},
    };
    for (int i = 1; i < count; i += 2) {
        const auto option = options.find(arguments[i]);
        if (option == options.end() || i + 1 == count)
            throw std::invalid_argument(std::string(arguments[i]) + " is no option, or has no value");
        option->second(arguments[i + 1]);
    }
    if (asked.wires.empty()) asked.wires = {{"1G", 50000, 8}, {"25G", 15000, 0.32}, {"200G", 2000, 0.04}};
    if (asked.hosts.empty()) asked.hosts = {2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    if (asked.per_host.empty()) asked.per_host = {1, 4, 8};
    if (asked.bytes.empty()) asked.bytes = {4, 1024, 16384, 262144, 1 << 20, 16 << 20};
    return asked;
}

void measure(const Asked &asked, const Wire &wire, const Layout &layout, const Way &way, std::size_t bytes) {
    const Task task = {layout, bytes};
    if (!way.fits(task)) return;
    Network *charged = nullptr;
    const auto job = way.make(task, [&](double summed) { charged->charge(summed * asked.machine.sum_byte_ns); });
    Network network(asked.machine, wire, layout, job->read());
    charged = &network;
    std::vector<std::unique_ptr<mdist::Schedule>> parts(layout.workers());
    const double ns = network.run([&](uint32_t worker) {
        if (!parts[worker]) parts[worker] = job->part(network, worker);
        return parts[worker]->advance();
    });
    std::printf("%s\t%u\t%u\t%s\t%zu\t%s\t%.1f\t%llu\n", wire.name.c_str(), layout.hosts, layout.per_host, way.pattern,
                bytes, way.name, ns / 1000, static_cast<unsigned long long>(network.messages()));
    std::fflush(stdout);
}

void measure_all(const Asked &asked) {
    for (const Wire &wire : asked.wires)
        for (const uint32_t per_host : asked.per_host)
            for (const uint32_t hosts : asked.hosts)
                for (const std::size_t bytes : asked.bytes)
                    for (const Way &way : ways()) {
                        if (!asked.pattern.empty() && asked.pattern != way.pattern) continue;
                        if (std::strcmp(way.pattern, "barrier") == 0 && bytes != asked.bytes[0]) continue;
                        if (per_host > 1 && hosts > 128) continue;
                        measure(asked, wire, {hosts, per_host, asked.cores, asked.shared != 0}, way, bytes);
                    }
}

} // namespace

int main(int count, char **arguments) try {
    measure_all(read(count, arguments));
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "costs: %s\n", error.what());
    return 1;
}
