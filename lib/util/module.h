// SPDX-License-Identifier: Apache-2.0
// Modules: shared objects that belong to the library. Each is loaded when it is first needed. They are never unloaded,
// since their threads and types do not survive dlclose. Any thread.
#pragma once

#include <string>
#include <vector>

namespace mdist {

/// Returns the paths where a module may be: beside the file that this code was loaded from, and in mdist/ beside it.
/// They are absolute, whatever the working directory. Returns none if the system does not tell.
std::vector<std::string> module_places(const std::string &file_name);

struct ModuleSymbol {
    void *address = nullptr;
    std::string why_not; // part of a sentence, if there is no address
};

/// Loads a file by its absolute path and looks up its one symbol. Other objects do not see its symbols.
ModuleSymbol load_module(const std::string &path, const char *symbol);

} // namespace mdist
