// SPDX-License-Identifier: Apache-2.0
// What libmdist and its module libmdist-gloo.so have in common.
#pragma once

#include "comm/links/gloo.h"

#include <mdist/base.h>

namespace mdist {

struct GlooModule {
    uint32_t version;       // MDIST_VERSION of the module's build; what follows is only read if it is ours
    uint32_t options_bytes; // sizeof(GlooOptions) there
    /// Nullptr, or why the module cannot be used in this process.
    const char *(*objection)();
    std::unique_ptr<Link> (*make)(const GlooOptions &options);
};

/// The module's one symbol.
constexpr const char *kGlooModuleSymbol = "mdist_gloo_module";
using GlooModuleFunction = const GlooModule *();

} // namespace mdist
