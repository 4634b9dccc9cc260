// SPDX-License-Identifier: Apache-2.0
// Fuzz target: YAML into a config. Whatever the bytes, either the config is loaded and every key can be read, or a
// Failure has a place and a reason and the config is unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cluster/config.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "yaml_fuzz: broken promise: %s\n", what);
    std::abort();
}

void read_every_key(const Config &config) {
    for (const ConfigKey &key : config_keys()) {
        require(!config.is_set(key.name) || config.origin(key.name).starts_with("in:"), "an origin names its text");
        switch (key.type) {
            case KeyType::kDuration:
                if (*key.default_text != '\0' || config.is_set(key.name))
                    require(config.duration_ns(key.name) > 0, "a duration is more than 0");
                break;
            case KeyType::kBytes:
                config.bytes(key.name);
                break;
            case KeyType::kCount:
                config.count(key.name);
                break;
            case KeyType::kDevices:
                require(!config.devices().empty(), "there is a device");
                break;
            case KeyType::kAddresses:
            case KeyType::kChoice:
            case KeyType::kPorts:
            case KeyType::kEndpoint:
            case KeyType::kText:
                config.list(key.name);
                break;
        }
    }
}

} // namespace

FUZZ_TARGET(yaml) {
    Config config;
    config.set("communication.timeout", "7s", "in:before");
    const Config before = config;
    try {
        config.load_text({reinterpret_cast<const char *>(data), size}, "in");
    } catch (const Failure &failure) {
        require(config == before, "a failed load changes nothing");
        require(failure.status() == MDIST_ERR_CONFIG, "the status is MDIST_ERR_CONFIG");
        require(failure.message().starts_with("in:"), "the sentence begins with the place");
        require(failure.message().size() < 2000, "the sentence is short");
        require(!failure.reason().empty(), "there is a reason");
        return 0;
    }
    read_every_key(config);
    return 0;
}
