# SPDX-License-Identifier: Apache-2.0
"""
A collective under way, from a function that ends in `_start!`; `test` moves it on, `wait` waits.

Every collective of this module is started and tested, never called in the form that blocks. A task that waits for
others inside a C function does not reach the points at which Julia's garbage collector stops all threads. If another
replica's task allocated then and had to collect, the collector would wait for the first, and the first for the other:
for ever, or here until the timeout. And a waiting task that blocks its thread needs a thread of its own, while one that
yields shares it: with `julia --threads 1` all replicas take turns.

From start to end the arrays belong to the operation. The work holds them, the replica holds the work, and the
replica's task the replica, so no collector takes them; don't `resize!` them. (Julia's collector moves no memory.)
"""
mutable struct Work <: Handle
    handle::Ptr{mdist_work_t}
    arrays::Any
    done::Bool
    Work(handle::Ptr{mdist_work_t}, arrays) = finalizer(destroy, new(handle, arrays, false))::Work
end

destroy(work::Work) = @ccall libmdist.mdist_work_destroy(work::Ptr{mdist_work_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_work_t}}, work::Work) = work.handle

"Moves the operation on, as far as that goes without waiting, and says whether it is done. Throws if it failed."
function test(work::Work)
    work.done && return true
    done = Ref{Int32}(0)
    check() do error
        @ccall libmdist.mdist_work_test(
            work::Ptr{mdist_work_t}, done::Ref{Int32}, error::Out{mdist_error_t})::Int32
    end
    done[] == 0 && return false
    work.done = true
    work.arrays = nothing
    close(work)
    return true
end

const POLLS_BEFORE_SLEEP = 10_000

"Waits until the operation is done, and lets other tasks run meanwhile."
function Base.wait(work::Work)
    polls = 0
    while !test(work)
        # yield() gives way to tasks that have run on this thread before. One that has not run yet may need this thread
        # to go back to the scheduler, which sleeping does.
        (polls += 1) % POLLS_BEFORE_SLEEP == 0 ? sleep(0.001) : yield()
    end
    return nothing
end
