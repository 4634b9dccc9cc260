# SPDX-License-Identifier: Apache-2.0
# All-to-all with parts of any lengths.

"C reads a length for each buffer and replica that takes part, buffer by buffer."
function part_lengths(given, buffers::Integer, members::Integer)
    lengths = UInt64[given...]
    length(lengths) == buffers * members && return lengths
    throw(ArgumentError(
        "$(length(lengths)) lengths of parts; pass $(buffers * members), one for each array and replica that takes part"))
end

members(replica::Replica, ::Nothing) = replica_count(replica)
members(::Replica, group::Group) = length(group)

"    all_to_all_parts_start!(replica, lengths => lengths, input => output, ...): `all_to_all_parts!`, started."
function all_to_all_parts_start!(
    replica::Replica, parts::Pair, pairs::Pair...; timeout::Real = 0, group = nothing,
)
    lengths = Tuple(part_lengths(one, length(pairs), members(replica, group)) for one in parts)
    return start_collective(
        replica, COLLECTIVE_ALL_TO_ALL_PARTS, map(first, pairs), map(last, pairs); parts = lengths, timeout, group)
end

"""
    all_to_all_parts!(replica, input_parts => output_parts, input => output, ...; timeout = 0, group = nothing)

All-to-all with parts of any lengths, which lie end to end: `input_parts` has the elements that go to each replica,
`output_parts` those that come from each, array by array. If a sender and a receiver give different lengths, it is
`ERR_MISMATCH` on all replicas.
"""
all_to_all_parts!(replica::Replica, parts::Pair, pairs::Pair...; timeout::Real = 0, group = nothing) =
    wait(all_to_all_parts_start!(replica, parts, pairs...; timeout, group))
