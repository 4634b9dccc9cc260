// SPDX-License-Identifier: Apache-2.0
#include "comm/links/gloo.h"

#include "comm/links/gloo_module.h"
#include "util/failure.h"
#include "util/text.h"

#include <dlfcn.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr const char *kModuleFile = "libmdist-gloo.so";

std::string &only_folder() {
    static std::string folder;
    return folder;
}

/// The folder of the file that this code was loaded from.
std::string own_folder() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
    const std::string file = info.dli_fname;
    const std::size_t slash = file.rfind('/');
    return slash == std::string::npos ? "." : file.substr(0, slash);
}

std::vector<std::string> candidates() {
    if (!only_folder().empty()) return {text(only_folder(), '/', kModuleFile)};
    const std::string folder = own_folder();
    return {text(folder, '/', kModuleFile), text(folder, "/mdist/", kModuleFile)};
}

struct Loaded {
    const GlooModule *module = nullptr;
    std::string why_not;
};

/// The file stays loaded: its threads and types don't survive dlclose.
Loaded load_file(const std::string &path) {
    void *file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *problem = file == nullptr ? dlerror() : nullptr;
    if (file == nullptr) return {nullptr, problem != nullptr ? problem : text(path, " cannot be loaded")};
    const auto function = reinterpret_cast<GlooModuleFunction *>(dlsym(file, kGlooModuleSymbol));
    const GlooModule *module = function != nullptr ? function() : nullptr;
    if (module == nullptr || module->version != MDIST_VERSION || module->options_bytes != sizeof(GlooOptions))
        return {nullptr, text(path, " is not of this build of libmdist (", MDIST_VERSION, ")")};
    if (const char *objection = module->objection()) return {nullptr, objection};
    return {module, ""};
}

Loaded load() {
    for (const std::string &path : candidates())
        if (access(path.c_str(), F_OK) == 0) return load_file(path);
    return {nullptr, text("there is no ", candidates().front(), ": libmdist was built or installed without Gloo")};
}

const Loaded &loaded() {
    static const Loaded once = load();
    return once;
}

} // namespace

void look_for_gloo_in(std::string folder) {
    only_folder() = std::move(folder);
}

bool gloo_available(std::string *why_not) {
    if (why_not != nullptr) *why_not = loaded().why_not;
    return loaded().module != nullptr;
}

std::unique_ptr<Link> make_gloo_link(const GlooOptions &options) {
    if (loaded().module == nullptr)
        throw Failure(MDIST_ERR_UNSUPPORTED, text("Gloo is not available: ", loaded().why_not)).reason("gloo");
    return loaded().module->make(options);
}

} // namespace mdist
