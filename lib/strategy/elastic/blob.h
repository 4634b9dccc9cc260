// SPDX-License-Identifier: Apache-2.0
// Blob: state of the program that each replica has for itself, of a fixed size, such as a random generator. Commits
// keep it. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace mdist {

struct Blob {
    std::string name;
    std::size_t bytes = 0; // of each replica
    /// Copies a replica's state to memory, and back. They throw what a callback may throw.
    std::function<void(uint32_t replica, void *to)> save;
    std::function<void(uint32_t replica, const void *from)> restore;
};

} // namespace mdist
