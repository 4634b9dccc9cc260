# SPDX-License-Identifier: Apache-2.0
# Collectives with a root (an id, from 0): what only one replica gets, or gives. What the others bring on that side is
# not looked at: an empty array does.

"    reduce_to_root_start!(replica, op, root, arrays...): `reduce_to_root!`, started."
reduce_to_root_start!(replica::Replica, op::ReduceOp, root::Integer, arrays::Operand...; limits...) =
    start_collective(replica, COLLECTIVE_REDUCE_TO_ROOT, arrays, arrays; op, root, limits...)

"    gather_to_root_start!(replica, root, input => output, ...): `gather_to_root!`, started."
gather_to_root_start!(replica::Replica, root::Integer, pairs::Pair...; limits...) =
    start_collective(replica, COLLECTIVE_GATHER_TO_ROOT, map(first, pairs), map(last, pairs); root, limits...)

"    scatter_start!(replica, root, input => output, ...): `scatter!`, started."
scatter_start!(replica::Replica, root::Integer, pairs::Pair...; limits...) =
    start_collective(replica, COLLECTIVE_SCATTER, map(first, pairs), map(last, pairs); root, limits...)

"""
    reduce_to_root!(replica, op, root, arrays...; timeout = 0, group = nothing)

Replaces the arrays of replica `root` by the reduction of all replicas' arrays; the others' stay as they are.
"""
reduce_to_root!(replica::Replica, op::ReduceOp, root::Integer, arrays...; timeout::Real = 0, group = nothing) =
    wait(reduce_to_root_start!(replica, op, root, arrays...; timeout, group))

"""
    gather_to_root!(replica, root, input => output, ...; timeout = 0, group = nothing)

Writes all replicas' inputs one after another into the outputs of replica `root`.
"""
gather_to_root!(replica::Replica, root::Integer, pairs...; timeout::Real = 0, group = nothing) =
    wait(gather_to_root_start!(replica, root, pairs...; timeout, group))

"""
    scatter!(replica, root, input => output, ...; timeout = 0, group = nothing)

Gives each replica its part of the inputs of replica `root`: they lie there in replica order, as long as the outputs.
"""
scatter!(replica::Replica, root::Integer, pairs...; timeout::Real = 0, group = nothing) =
    wait(scatter_start!(replica, root, pairs...; timeout, group))
