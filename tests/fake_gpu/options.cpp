// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace fake_gpu {
namespace {

template <typename Number>
bool read(std::string_view text, Number &number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

bool read_flag(std::string_view text, bool &flag) {
    flag = text == "1";
    return text == "0" || text == "1";
}

bool read_memory(std::string_view text, bool &guarded) {
    guarded = text == "guarded";
    return guarded || text == "open";
}

bool read_reach(std::string_view text, int32_t &island) {
    island = text == "0" ? 1 : text == "pairs" ? 2 : text == "fours" ? 4 : 64;
    return island != 64 || text == "1";
}

bool read_nccl(std::string_view text, int32_t &version) {
    if (text != "none") return read(text, version);
    version = 0;
    return true;
}

bool set(Options &options, std::string_view key, std::string_view value) {
    if (key == "devices") return read(value, options.devices);
    if (key == "memory") return read_memory(value, options.guarded);
    if (key == "seed") return read(value, options.seed);
    if (key == "delay_us") return read(value, options.delay_us);
    if (key == "reach") return read_reach(value, options.island);
    if (key == "no_device") return read(value, options.no_device);
    if (key == "nccl") return read_nccl(value, options.nccl);
    if (key == "nccl_polls") return read(value, options.nccl_polls);
    if (key == "nccl_alone") return read_flag(value, options.nccl_alone);
    if (key == "launch_waits") return read_flag(value, options.launch_waits);
    if (key == "memory_mb") return read(value, options.memory_mb);
    if (key == "fail") return options.faults.emplace_back(value), true;
    if (key == "hang") return options.faults.push_back(std::string(value) + ":hang"), true;
    return false;
}

Options parse(const char *variable) {
    Options options;
    std::string_view rest = variable == nullptr ? "" : variable;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(one.size() == rest.size() ? one.size() : one.size() + 1);
        const std::size_t equals = one.find('=');
        const bool good =
            equals != std::string_view::npos && set(options, one.substr(0, equals), one.substr(equals + 1));
        if (!good && !one.empty()) options.problem = "MDIST_FAKE_GPU has \"" + std::string(one) + "\"";
    }
    return options;
}

} // namespace

const Options &options() {
    static const Options &once = *new Options(parse(std::getenv("MDIST_FAKE_GPU")));
    return once;
}

} // namespace fake_gpu
