# SPDX-License-Identifier: Apache-2.0
"""
    Mdist.Group(strategy, replicas)

Some replicas of the job, ids from 0, in an order of their own, with collectives of their own:
`all_reduce!(replica, Mdist.SUM, x; group = group)`. Gathers follow the order of the list. All workers make it with the
same list, even workers without members. Keep groups: do not make one in each step.
"""
mutable struct Group <: Handle
    handle::Ptr{mdist_group_t}
    Group(handle::Ptr{mdist_group_t}) = finalizer(destroy, new(handle))::Group
end

destroy(group::Group) = @ccall libmdist.mdist_group_destroy(group::Ptr{mdist_group_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_group_t}}, group::Group) = group.handle

"For the options of a call, whose caller keeps the group."
handle_of(::Nothing) = Ptr{mdist_group_t}(C_NULL)
handle_of(group::Group) = group.handle

function Group(strategy::Strategy, replicas)
    ids = UInt32[replicas...]
    out = Out{mdist_group_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_group_create(
            strategy::Ptr{mdist_strategy_t}, ids::Ptr{UInt32}, length(ids)::Csize_t, out::Out{mdist_group_t},
            error::Out{mdist_error_t})::Int32
    end
    return Group(out[])
end

"How many members it has."
Base.length(group::Group) = Int(@ccall libmdist.mdist_group_size(group::Ptr{mdist_group_t})::UInt32)

"The position of a replica of the job, from 0; -1 if it is not a member."
Base.position(group::Group, replica::Integer) =
    Int(or_none(@ccall libmdist.mdist_group_position(group::Ptr{mdist_group_t}, replica::UInt32)::UInt32))
