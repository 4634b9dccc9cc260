// SPDX-License-Identifier: Apache-2.0
// Command: what the client asks all workers for, and how it and what they give back travel.
//
// Values are cut where they leave: each worker gets the tensors of its own replicas, and of a mirrored value one.
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
    std::string variable;             // the name of one that is there; "": none
    VariableSpec spec;                // of one to create
    int32_t assign = 0;               // mdist_assign_t
    std::size_t result_count = 0;     // that are wanted
    uint64_t timeout_ns = 0;          // for collectives; 0: the strategy's
    std::vector<ValuePointer> values; // arguments, or what to assign
    std::vector<std::string> dropped; // variables that nobody has any more

    /// Its values for one worker alone.
    Command for_worker(uint32_t worker, uint32_t replicas_per_worker) const;
    /// Of a command for one worker.
    std::string encoded() const;
    /// Throws DATA_LOSS for what is none.
    static Command decoded(std::string_view bytes, const Strategy &strategy);
};

/// Values of one worker's replicas, nullptr among them.
std::string encode_values(const std::vector<ValuePointer> &values);
std::vector<ValuePointer> decode_values(std::string_view bytes, const Strategy &strategy);

/// One value of the results of all workers, whose replicas they are in order. Throws MISMATCH where they do not go
/// together.
ValuePointer join_results(std::size_t index, const std::vector<ValuePointer> &by_worker, uint32_t replicas_per_worker);

} // namespace mdist
