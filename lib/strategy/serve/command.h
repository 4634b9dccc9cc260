// SPDX-License-Identifier: Apache-2.0
// Command: what the client of an in-graph job asks all workers to do, and how the command and its results are encoded.
//
// Values are split before they are sent. Each worker gets the tensors of its own replicas, and one tensor of a mirrored
// value.
#pragma once

#include "strategy/variables/variable.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

struct Command {
    enum class Kind : uint8_t { kRun = 1, kUpdate, kCreate, kAssign, kRead, kSpread };

    Kind kind = Kind::kRun;
    std::string name;                 // of a registered step or update
    std::string variable;             // the name of an existing variable; "": none
    VariableSpec spec;                // of a variable to create
    int32_t assign = 0;               // mdist_assign_t
    uint64_t result_count = 0;        // number of results wanted
    uint64_t timeout_ns = 0;          // for collectives; 0: the strategy's
    std::vector<ValuePointer> values; // arguments, or what to assign
    std::vector<std::string> dropped; // names of variables that no longer exist

    /// The command with only the values of these replicas.
    Command for_replicas(const Span &span) const;
    /// Encodes a command for one worker.
    std::string encoded() const;
    /// Throws DATA_LOSS if the bytes are not a command.
    static Command decoded(std::string_view bytes, const Replicas &replicas);
};

/// Encodes the values of one worker's replicas. Values may be nullptr.
std::string encode_values(const std::vector<ValuePointer> &values);
std::vector<ValuePointer> decode_values(std::string_view bytes, const Replicas &replicas, uint32_t worker);

/// Joins one result of all workers, in order of their replicas. Throws MISMATCH if the parts do not fit together.
ValuePointer join_results(std::size_t index, const std::vector<ValuePointer> &by_worker, const Replicas &replicas);

} // namespace mdist
