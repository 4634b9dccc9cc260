// SPDX-License-Identifier: Apache-2.0
// The interface between libmdist and its module libmdist-gloo.so.
#pragma once

#include "comm/links/gloo_options.h"
#include "comm/links/link.h"

#include <mdist/base.h>

#include <memory>

namespace mdist {

struct GlooModule {
    uint32_t version;       // MDIST_VERSION of the module's build; read the rest only if it is ours
    uint32_t options_bytes; // sizeof(GlooOptions) in the module
    /// Returns why the module cannot be used in this process; nullptr if it can.
    const char *(*objection)();
    std::unique_ptr<Link> (*make)(const GlooOptions &options);
};

/// The only symbol of the module.
constexpr const char *kGlooModuleSymbol = "mdist_gloo_module";
using GlooModuleFunction = const GlooModule *();

} // namespace mdist
