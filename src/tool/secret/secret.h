// SPDX-License-Identifier: Apache-2.0
// `mdist secret`: writes a secret for a job. Main thread.
#pragma once

#include <string>

namespace mdist {

struct SecretOptions {
    std::string file; // empty: stdout
    bool force = false;
};

/// The exit status. Throws std::system_error.
int make_secret(const SecretOptions &options);

} // namespace mdist
