# SPDX-License-Identifier: Apache-2.0
"""
A collective under way, from a function that ends in `_start!`; `test` moves it on, `wait` waits.

Every collective of this module is started and tested, never called in the form that blocks. A waiting task that blocks
its thread needs a thread of its own, while one that yields shares it: with `julia --threads 1` all replicas take turns.
A replica that has a thread of its own waits in C, for a millisecond at a time. It lets Julia's garbage collector run
meanwhile (`@gc_safe`). Otherwise the collector of another replica's task would wait for the first, and the first for the
other.

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

const POLLS_BEFORE_BLOCKING, POLLS_BEFORE_SLEEP = 50, 10_000
const BLOCKED_NS = UInt64(1_000_000) # as long as other tasks of this thread, and Julia's events, can wait

"Waits until the operation is done, and lets other tasks run meanwhile."
function Base.wait(work::Work)
    polls = 0
    while !test(work)
        polls += 1
        if polls > POLLS_BEFORE_BLOCKING && owns_thread()
            # Who only polls takes a processor from the replica that it waits for, where there are too few of them.
            blocked(work) && yield()
        elseif polls % POLLS_BEFORE_SLEEP == 0
            # yield() gives way to tasks that have run on this thread before. One that has not run yet may need this
            # thread to go back to the scheduler, which sleeping does.
            sleep(0.001)
        else
            yield()
        end
    end
    return nothing
end

"Waits a little in C, while the garbage collector may run. False if there is nothing more to wait for: `test` says how it ended."
function blocked(work::Work)
    done, error = Ref{Int32}(0), Out{mdist_error_t}(C_NULL)
    GC.@preserve work done error begin
        status = work_wait(
            work.handle, BLOCKED_NS, Base.unsafe_convert(Ptr{Int32}, done),
            Base.unsafe_convert(Ptr{Ptr{mdist_error_t}}, error))
    end
    status < 0 && throw(MdistError(status, error[]))
    return done[] == 0
end

# A function of its own, never inlined: see merge.jl.
@noinline function work_wait(
    work::Ptr{mdist_work_t}, timeout::UInt64, done::Ptr{Int32}, error::Ptr{Ptr{mdist_error_t}},
)
    return @gc_safe @ccall libmdist.mdist_work_wait(
        work::Ptr{mdist_work_t}, timeout::UInt64, done::Ptr{Int32}, error::Ptr{Ptr{mdist_error_t}})::Int32
end
