# SPDX-License-Identifier: Apache-2.0
"""
By number of the thread: the task that has it for itself, or nothing.

Some calls block their thread in C until other replicas have come. A replica that waits for the same thread would never
come. So a run takes a thread for each of its replicas, and their tasks stay there. If too few are free, the tasks share
threads, and such calls are refused.
"""
const OWNERS = Union{Task,Nothing}[]
const OWNERS_LOCK = ReentrantLock()

"Threads for tasks, without those that Julia 1.9 and later keep for interactive ones."
pool_threads() = isdefined(Threads, :threadpooltids) ? Threads.threadpooltids(:default) : 1:Threads.nthreads()

"""
Calls `f` with the numbers of `count` threads that no other run has, the caller's first; with none if too few are free.
A replica whose merge function makes a run lends it the replica's own thread.
"""
function with_threads(f, count::Integer)
    caller, here = current_task(), Threads.threadid()
    taken = lock(OWNERS_LOCK) do
        free = [id => OWNERS[id] for id in pool_threads() if OWNERS[id] === nothing || OWNERS[id] === caller]
        length(free) < count && return empty(free)
        sort!(free; by = ((id, _),) -> id != here)
        foreach(((id, _),) -> OWNERS[id] = caller, resize!(free, count))
        # Julia's events, such as the end of a println, are seen by thread 1 alone, which a call may block while another
        # replica waits for them. Within a threaded region any idle thread sees them.
        count > 1 && @ccall jl_enter_threaded_region()::Cvoid
        return free
    end
    try
        return f(map(first, taken))
    finally
        isempty(taken) || lock(OWNERS_LOCK) do
            foreach(((id, owner),) -> OWNERS[id] = owner, taken)
            count > 1 && @ccall jl_exit_threaded_region()::Cvoid
        end
    end
end

"""
The threads for tasks of a run that has none for itself: those that nobody has, or else the caller's. Tasks that stay on
one thread give way to each other whenever they yield. Tasks that any thread may take would not begin, in Julia 1.5, while
all threads are busy with tasks that wait for them.
"""
function shared_threads()
    shared = lock(() -> [id for id in pool_threads() if OWNERS[id] === nothing || OWNERS[id] === current_task()], OWNERS_LOCK)
    return isempty(shared) ? [Threads.threadid()] : shared
end

"Starts a task that stays on a thread, which is the task's alone from now on if `owns`."
function start_on(f, thread::Integer, owns::Bool = false)
    task = Task(f)
    task.sticky = true
    GC.@preserve task @ccall jl_set_task_tid(pointer_from_objref(task)::Ptr{Cvoid}, (thread - 1)::Cint)::Cvoid
    owns && (OWNERS[thread] = task)
    return schedule(task)
end

"Whether the task that calls this has its thread for itself, and may block it."
owns_thread() = OWNERS[Threads.threadid()] === current_task()

"Throws unless the replica has a thread of its own, which `what` would block. `instead` is what never blocks, if anything is."
function check_thread(replica::Replica, what::String, instead::String = "")
    replica.has_thread && return nothing
    needed, threads = local_replica_count(replica.strategy), Threads.nthreads()
    busy = threads < needed ? "" : ", which other runs use"
    enough = threads < needed ? needed : threads + needed
    cores = enough > Sys.CPU_THREADS ? " (this machine has $(Sys.CPU_THREADS) cores, and Julia may make no more threads)" : ""
    throw(ArgumentError("$what of $needed replicas needs a thread for each, and Julia has $threads$busy: " *
                        "julia --threads $enough$cores$instead"))
end
