// SPDX-License-Identifier: Apache-2.0
#include "util/host.h"

#include "util/text.h"

#include <cstdio>
#include <cstring>
#include <memory>

#include <unistd.h>

namespace mdist {
namespace {

std::string boot_id() {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(
        std::fopen("/proc/sys/kernel/random/boot_id", "re"),
        [](FILE *open) { return open == nullptr ? 0 : std::fclose(open); });
    char line[64] = "";
    if (file == nullptr || std::fgets(line, sizeof line, file.get()) == nullptr) return "";
    line[std::strcspn(line, "\n")] = '\0';
    return line;
}

/// "net:[4026531840]"
std::string name_space(const char *path) {
    char name[64];
    const ssize_t length = readlink(path, name, sizeof name);
    return length <= 0 ? "" : std::string(name, static_cast<std::size_t>(length));
}

} // namespace

std::string host_identity() {
    const std::string boot = boot_id();
    const std::string net = name_space("/proc/self/ns/net");
    const std::string pid = name_space("/proc/self/ns/pid");
    return boot.empty() || net.empty() || pid.empty() ? "" : text(boot, " ", net, " ", pid);
}

} // namespace mdist
