// SPDX-License-Identifier: Apache-2.0
// Modules: shared objects of the library's own, loaded when what they bring is first wanted. They are never unloaded,
// as their threads and types don't survive dlclose. Any thread.
#pragma once

#include <string>
#include <vector>

namespace mdist {

/// Where a module of that name may be: beside the file that this code was loaded from, and in mdist/ beside it.
/// Absolute paths, whatever the working directory; none where the system does not tell.
std::vector<std::string> module_places(const std::string &file_name);

struct ModuleSymbol {
    void *address = nullptr;
    std::string why_not; // as a sentence's part, where there is none
};

/// Loads a file by its absolute path, nothing of it visible to others, and looks up its one symbol.
ModuleSymbol load_module(const std::string &path, const char *symbol);

} // namespace mdist
