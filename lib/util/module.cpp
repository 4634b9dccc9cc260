// SPDX-License-Identifier: Apache-2.0
#include "util/module.h"

#include "util/text.h"

#include <dlfcn.h>
#include <link.h>

#include <cinttypes>
#include <cstdio>
#include <memory>

namespace mdist {
namespace {

/// Returns the file that is mapped at an address. The kernel's path is absolute, whatever path it was loaded by.
std::string mapped_file(const void *address) {
    const std::unique_ptr<FILE, int (*)(FILE *)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
    if (maps == nullptr) return "";
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    char line[4096 + 128];
    while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
        uintptr_t begin = 0;
        uintptr_t end = 0;
        int path = 0;
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end, &path) < 2) continue;
        if (wanted < begin || wanted >= end || line[path] != '/') continue;
        const std::string file = line + path;
        return file.substr(0, file.find('\n'));
    }
    return "";
}

/// Returns the file that this code was loaded from, or "" if that is not known for sure.
std::string own_file() {
    const auto here = reinterpret_cast<const void *>(&module_places);
    Dl_info info;
    if (dladdr(here, &info) != 0 && info.dli_fname != nullptr && info.dli_fname[0] == '/') return info.dli_fname;
    return mapped_file(here);
}

/// Returns whether a dynamic linker started this program. Without one, dlopen loads a second C library, and the first
/// call into the module may crash.
bool has_dynamic_linker() {
    const auto look = [](dl_phdr_info *program, std::size_t, void *) {
        constexpr int kYes = 1, kNo = 2; // any number but 0 ends the search with the first object, which is the program
        for (int i = 0; i < program->dlpi_phnum; ++i)
            if (program->dlpi_phdr[i].p_type == PT_INTERP) return kYes;
        return kNo;
    };
    return dl_iterate_phdr(look, nullptr) == 1;
}

} // namespace

std::vector<std::string> module_places(const std::string &file_name) {
    const std::string file = own_file();
    if (file.empty()) return {};
    const std::string folder = file.substr(0, file.rfind('/'));
    return {text(folder, '/', file_name), text(folder, "/mdist/", file_name)};
}

ModuleSymbol load_module(const std::string &path, const char *symbol) {
    if (!has_dynamic_linker())
        return {nullptr,
                text(path, " cannot be loaded by a program linked with -static; link only libmdist.a statically")};
    void *file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (file == nullptr) {
        const char *problem = dlerror();
        return {nullptr, problem != nullptr ? problem : text(path, " cannot be loaded")};
    }
    void *address = dlsym(file, symbol);
    if (address == nullptr) return {nullptr, text(path, " has no symbol ", symbol)};
    return {address, ""};
}

} // namespace mdist
