// SPDX-License-Identifier: Apache-2.0
#include "check/gpu.h"

#include <mdist/base.h>

#include <dlfcn.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace mdist {
namespace {

/// The folder beside libmdist.so in which the GPU module lies, and its checks.
std::filesystem::path module_folder() {
    Dl_info about{};
    if (dladdr(reinterpret_cast<void *>(&mdist_version), &about) == 0 || about.dli_fname == nullptr) return {};
    return std::filesystem::absolute(about.dli_fname).lexically_normal().parent_path() / "mdist";
}

} // namespace

void check_gpu() {
    const std::string report = module_folder() / "gpu-checks/tests/gpu/report";
    if (access(report.c_str(), X_OK) != 0)
        throw std::runtime_error("there is no " + report + " (" + std::strerror(errno) +
                                 "): the checks come with the wheel mdist-cuda (pip install mdist-cuda). From the "
                                 "sources: tests/gpu/run --pack DIR, then DIR/tests/gpu/report");
    execl(report.c_str(), report.c_str(), nullptr);
    throw std::runtime_error(report + " cannot be run: " + std::strerror(errno));
}

} // namespace mdist
