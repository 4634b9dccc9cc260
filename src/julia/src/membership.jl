# SPDX-License-Identifier: Apache-2.0
"""
    Mdist.leave(strategy; grace = 0)

Says that this worker must leave. `grace`: seconds from now to the end of the machine; 0: end at once.
"""
function leave(strategy::Strategy; grace::Real = 0)
    nanoseconds = round(UInt64, grace * 1.0e9)
    @ccall libmdist.mdist_membership_leave(strategy::Ptr{mdist_strategy_t}, nanoseconds::UInt64)::Cvoid
end

"""
    verdict, rank = Mdist.check_membership(strategy; timeout = 0)

What all workers, which all ask after a step, are to do: `VERDICT_GO_ON`, `VERDICT_SAVE`, `VERDICT_END`, or in an elastic
job `VERDICT_REGROUP` (`Mdist.commit` and `Mdist.regroup`). `rank` is that of the worker that has said that it leaves, or -1.
"""
function check_membership(strategy::Strategy; timeout::Real = 0)
    limits = options(timeout)
    answer, rank = Ref{Int32}(0), Ref{UInt32}(0)
    check() do error
        @ccall libmdist.mdist_membership_check(
            strategy::Ptr{mdist_strategy_t}, answer::Ref{Int32}, rank::Ref{UInt32},
            limits::Ref{mdist_call_options_t}, error::Out{mdist_error_t})::Int32
    end
    return Verdict(answer[]), Int(or_none(rank[]))
end
