# SPDX-License-Identifier: Apache-2.0
"""
    Preemption(strategy; grace = 0)

Where a worker is told to go, so that all save at the same step: `Mdist.announce` on any thread, and `Mdist.verdict`
after every step. `grace`: seconds between the announcement and the end of the machine; 0: end at once.
"""
mutable struct Preemption <: Handle
    handle::Ptr{mdist_preemption_t}
    Preemption(handle::Ptr{mdist_preemption_t}) = finalizer(destroy, new(handle))::Preemption
end

destroy(preemption::Preemption) = @ccall libmdist.mdist_preemption_destroy(preemption::Ptr{mdist_preemption_t})::Cvoid
Base.unsafe_convert(::Type{Ptr{mdist_preemption_t}}, preemption::Preemption) = preemption.handle

function Preemption(strategy::Strategy; grace::Real = 0)
    how = Ref(mdist_preemption_options_t(sizeof(mdist_preemption_options_t), 0, round(UInt64, grace * 1.0e9)))
    out = Out{mdist_preemption_t}(C_NULL)
    check() do error
        @ccall libmdist.mdist_preemption_create(
            strategy::Ptr{mdist_strategy_t}, out::Out{mdist_preemption_t}, how::Ref{mdist_preemption_options_t},
            error::Out{mdist_error_t})::Int32
    end
    return Preemption(out[])
end

"This worker is to go."
announce(preemption::Preemption) =
    @ccall libmdist.mdist_preemption_announce(preemption::Ptr{mdist_preemption_t})::Cvoid

"What all workers, which all ask, are to do, and the rank of the one that is to go, or -1."
function verdict(preemption::Preemption; timeout::Real = 0)
    limits = options(timeout)
    answer, worker = Ref{Int32}(0), Ref{UInt32}(0)
    check() do error
        @ccall libmdist.mdist_preemption_check(
            preemption::Ptr{mdist_preemption_t}, answer::Ref{Int32}, worker::Ref{UInt32},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
    return PreemptionVerdict(answer[]), Int(or_none(worker[]))
end
