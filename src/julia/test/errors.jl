# SPDX-License-Identifier: Apache-2.0
@testset "an error is the library's, in full" begin
    failed = thrown(() -> Strategy("device" => "cpu"))
    @test failed isa MdistError
    @test failed.status == Mdist.ERR_CONFIG
    @test failed.reason == "unknown_key"
    @test failed.operation == "mdist_config_set"
    @test failed.replica == failed.rank == -1
    text = sprint(showerror, failed)
    @test occursin("devices", text) && occursin("ERR_CONFIG", text)
end

@testset "replicas that disagree hear it" begin
    strategy = strategy_of(2)
    failed = thrown() do
        run(strategy) do replica
            all_reduce!(replica, Mdist.SUM, replica_id(replica) == 0 ? Float32[1] : Float64[1])
        end
    end
    @test failed isa MdistError
    @test failed.status == Mdist.ERR_MISMATCH
    @test occursin("float32", failed.message) && occursin("float64", failed.message)
    @test isempty(run(replica -> Mdist.barrier(replica), strategy))
end

# Julia 1.7 has current_exceptions; before that catch_stack gave the same pairs without names.
exceptions_now() =
    isdefined(Base, :current_exceptions) ? Base.current_exceptions() :
    [(exception = first(pair), backtrace = last(pair)) for pair in Base.catch_stack()]

@testset "run throws what the step of replica $guilty threw" for guilty in 0:2
    strategy = strategy_of(3)
    stack = try
        run(strategy) do replica
            replica_id(replica) == guilty && throw(DomainError(guilty, "a step that fails"))
            Mdist.barrier(replica) # the others wait here, and are released
        end
    catch
        exceptions_now()
    end
    @test stack[end].exception == DomainError(guilty, "a step that fails")
    sentence = stack[end - 1].exception.ex
    @test sentence isa MdistError
    @test sentence.status == Mdist.ERR_CALLBACK
    @test sentence.replica == guilty
    @test isempty(run(replica -> Mdist.barrier(replica), strategy))
end

@testset "an operation that nobody waits for fails the run" begin
    strategy = strategy_of(2)
    failed = thrown() do
        run(replica -> replica_id(replica) == 0 && Mdist.all_reduce_start!(replica, Mdist.SUM, zeros(4)), strategy)
    end
    @test failed isa MdistError
    # Who leaves first decides what is seen: the work of the one, or that the other never came to it.
    @test failed.reason == "work_under_way" || failed.status == Mdist.ERR_MISMATCH
    @test isempty(run(replica -> Mdist.barrier(replica), strategy))
end

@testset "who waits too long hears of it" begin
    given_up = Base.Event()
    failed = thrown() do
        run(strategy_of(2)) do replica
            replica_id(replica) == 1 && return wait(given_up)
            try
                Mdist.barrier(replica; timeout = 0.05)
            finally
                notify(given_up)
            end
        end
    end
    @test failed isa MdistError
    @test failed.status == Mdist.ERR_TIMEOUT
end

@testset "what was closed is refused" begin
    strategy = strategy_of(1)
    value = Value([1.0])
    close(value)
    close(value)
    @test thrown(() -> run(replica -> nothing, strategy, value)).status == Mdist.ERR_BAD_HANDLE
    Mdist.abort(strategy)
    close(strategy)
    @test thrown(() -> run(replica -> nothing, strategy)).status == Mdist.ERR_BAD_HANDLE
end
