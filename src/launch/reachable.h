// SPDX-License-Identifier: Apache-2.0
// Under which address of this machine workers on other hosts find the launcher. Asks the system; any thread.
#pragma once

#include "launch/placement.h"

#include <string>

namespace mdist {

/// Numeric, IPv6 in brackets: the address from which this machine speaks to the first remote host; 127.0.0.1 if there
/// is none. Throws std::runtime_error where the host's name means nothing.
std::string own_address_for(const Placement &placement);

} // namespace mdist
