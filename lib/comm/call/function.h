// SPDX-License-Identifier: Apache-2.0
// CallFunction: a function that replicas call: its name, and what it does with the replicas' buffers.
//
// Each function that makes calls has one, which lives for ever. Workers send each other a hash of the name. All workers
// run the same library, so each can look the name up by its hash. Any thread may call find().
#pragma once

#include <cstdint>

namespace mdist {

/// What a call does with the replicas' buffers.
enum class Pattern : uint8_t {
    kMeet, // nothing; kReduce if the call has an op
    kReduce,
    kReduceScatter,
    kReduceToRoot,
    kBroadcast,
    kFirst, // a broadcast by replica 0; kReduce if the call has an op
    kGather,
    kToRoot,
    kFromRoot,
    kTranspose,
    kLaunch, // starts recorded calls, one for each worker's replica
    kTransposeParts, // a transpose whose parts have any lengths
};
inline constexpr Pattern kLastPattern = Pattern::kTransposeParts;

/// Whether inputs are joined: they may then differ in length.
constexpr bool gathers(Pattern pattern) {
    return pattern == Pattern::kGather || pattern == Pattern::kToRoot;
}
/// Whether one replica is special: the call's root holds its id.
constexpr bool has_root(Pattern pattern) {
    return pattern == Pattern::kBroadcast || pattern == Pattern::kReduceToRoot || pattern == Pattern::kToRoot ||
           pattern == Pattern::kFromRoot;
}
/// Whether all replicas' inputs must have the same length.
constexpr bool input_lengths_agree(Pattern pattern) {
    return !gathers(pattern) && pattern != Pattern::kFromRoot && pattern != Pattern::kTransposeParts;
}
/// Whether replicas have pieces of different lengths, which must fit together: the inputs or outputs are pieces that are
/// joined on the other side, or each replica has a piece for each other.
constexpr bool has_parts(Pattern pattern) {
    return gathers(pattern) || pattern == Pattern::kReduceScatter || pattern == Pattern::kFromRoot ||
           pattern == Pattern::kTransposeParts;
}

class CallFunction {
  public:
    /// The object and its name must have static lifetime.
    CallFunction(const char *name, Pattern pattern) noexcept;
    CallFunction(const CallFunction &) = delete;
    CallFunction &operator=(const CallFunction &) = delete;

    /// "mdist_all_reduce"
    const char *name() const { return name_; }
    Pattern pattern() const { return pattern_; }
    /// fnv1a() of the name.
    uint64_t hash() const { return hash_; }
    /// The function with that hash; nullptr if this process has none.
    static const CallFunction *find(uint64_t hash) noexcept;

  private:
    const char *const name_;
    const uint64_t hash_;
    const Pattern pattern_;
    const CallFunction *next_;
};

/// How a Call refers to its function.
using CallKind = const CallFunction *;

} // namespace mdist
