// SPDX-License-Identifier: Apache-2.0
// Descriptor limit: whether this process may open enough files for a job. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Throws if this process may not open enough descriptors for the job. Otherwise the job would fail at its deadline,
/// with a message that another worker did not come.
void check_descriptors(uint32_t workers, std::size_t connections);
/// The same as a warning, for the most that the job may need: `connections`, and two descriptors for each other worker,
/// as if it exchanged data with all. Sockets take one for collectives and one for messages; shared memory two for both.
void warn_of_few_descriptors(uint32_t workers, std::size_t connections);

} // namespace mdist
