// SPDX-License-Identifier: Apache-2.0
// CallFunction: a function that replicas call: its name, and what it does with the replicas' buffers.
//
// Each function that makes calls has one for each pattern that its calls have. They live for ever. Workers send each
// other a hash. All workers run the same library, so each can look the function up by it. Any thread may call find().
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace mdist {

/// What a call does with the replicas' buffers.
enum class Pattern : uint8_t {
    kMeet, // nothing
    kReduce,
    kReduceScatter,
    kReduceToRoot,
    kBroadcast,
    kFirst, // a broadcast by replica 0
    kGather,
    kToRoot,
    kFromRoot,
    kTranspose,
    kLaunch,         // starts recorded calls, one for each worker's replica
    kTransposeParts, // a transpose whose parts have any lengths
};

/// What calls of a pattern have in common.
struct PatternTraits {
    bool sums = false;          // outputs are sums, by the call's op; else they are copies
    bool broadcasts = false;    // one replica's input goes to all outputs
    bool has_root = false;      // one replica is special: the call's root holds its place
    bool cuts = false;          // a replica takes a piece of an input, or of the sum
    bool joins = false;         // an output is made of pieces, one of each replica
    bool tells_lengths = false; // pieces may differ in length, and must fit together

    /// Whether the pieces are the outputs, and the inputs what is cut.
    constexpr bool gives_pieces() const { return cuts && !joins; }
    /// Whether all replicas' inputs must have the same length.
    constexpr bool inputs_agree() const { return sums || !tells_lengths; }
};

/// By pattern.
inline constexpr PatternTraits kPatternTraits[] = {
    {},                                                       // kMeet
    {.sums = true},                                           // kReduce
    {.sums = true, .cuts = true, .tells_lengths = true},      // kReduceScatter
    {.sums = true, .has_root = true},                         // kReduceToRoot
    {.broadcasts = true, .has_root = true},                   // kBroadcast
    {.broadcasts = true},                                     // kFirst
    {.joins = true, .tells_lengths = true},                   // kGather
    {.has_root = true, .joins = true, .tells_lengths = true}, // kToRoot
    {.has_root = true, .cuts = true, .tells_lengths = true},  // kFromRoot
    {.cuts = true, .joins = true},                            // kTranspose
    {},                                                       // kLaunch
    {.cuts = true, .joins = true, .tells_lengths = true},     // kTransposeParts
};
constexpr const PatternTraits &traits_of(Pattern pattern) {
    return kPatternTraits[static_cast<std::size_t>(pattern)];
}
static_assert(std::size(kPatternTraits) == static_cast<std::size_t>(Pattern::kTransposeParts) + 1);

class CallFunction {
  public:
    /// The object and its name must have static lifetime.
    CallFunction(const char *name, Pattern pattern) noexcept;
    CallFunction(const CallFunction &) = delete;
    CallFunction &operator=(const CallFunction &) = delete;

    /// "mdist_all_reduce"
    const char *name() const { return name_; }
    Pattern pattern() const { return pattern_; }
    const PatternTraits &traits() const { return traits_of(pattern_); }
    /// fnv1a() of the name, exclusive or the pattern shifted left by 32.
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
