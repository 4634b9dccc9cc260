// SPDX-License-Identifier: Apache-2.0
// The secret that workers of a job prove to each other, from the file that `secret_file` names.
#pragma once

#include <string>

namespace mdist {

class Config;

/// Without the newline at its end; "" where no file is named. Throws what read_regular_file() throws; the file must be
/// its owner's alone.
std::string read_secret(const Config &config);

} // namespace mdist
