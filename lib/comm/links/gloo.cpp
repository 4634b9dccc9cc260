// SPDX-License-Identifier: Apache-2.0
#include "comm/links/gloo.h"

#include "comm/links/gloo_module.h"
#include "util/failure.h"
#include "util/module.h"
#include "util/text.h"

#include <unistd.h>

namespace mdist {
namespace {

constexpr const char *kModuleFile = "libmdist-gloo.so";

std::string &only_folder() {
    static std::string folder;
    return folder;
}

std::vector<std::string> candidates() {
    if (!only_folder().empty()) return {text(only_folder(), '/', kModuleFile)};
    return module_places(kModuleFile);
}

struct Loaded {
    const GlooModule *module = nullptr;
    std::string why_not;
};

Loaded load_file(const std::string &path) {
    const ModuleSymbol symbol = load_module(path, kGlooModuleSymbol);
    if (symbol.address == nullptr) return {nullptr, symbol.why_not};
    const GlooModule *module = reinterpret_cast<GlooModuleFunction *>(symbol.address)();
    if (module == nullptr || module->version != MDIST_VERSION || module->options_bytes != sizeof(GlooOptions))
        return {nullptr, text(path, " is not from this build of libmdist (", MDIST_VERSION, ")")};
    if (const char *objection = module->objection()) return {nullptr, objection};
    return {module, ""};
}

Loaded load() {
    for (const std::string &path : candidates())
        if (access(path.c_str(), F_OK) == 0) return load_file(path);
    return {nullptr, text(kModuleFile, " is not beside libmdist: libmdist was built or installed without Gloo")};
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
