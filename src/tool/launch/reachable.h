// SPDX-License-Identifier: Apache-2.0
// Finds the address of this machine under which workers on other hosts reach the launcher. Asks the system; any thread.
#pragma once

#include "launch/placement.h"

#include <string>

namespace mdist {

/// Returns the numeric address, IPv6 in brackets, from which this machine speaks to the first remote host. Without
/// remote hosts returns 127.0.0.1. Throws std::runtime_error if the host's name is unknown.
std::string own_address_for(const Placement &placement);

} // namespace mdist
