# SPDX-License-Identifier: Apache-2.0
# Which threads replicas have. Each loop is long enough that tasks which share threads would meet on one.
"Runs that never end in time fail by the strategy's timeout."
two_replicas() = strategy_of(2, "communication.timeout" => "60s")

if Threads.nthreads() >= 2
    @testset "calls that block follow calls that do not" begin
        strategy = two_replicas()
        gradients = Gradients(strategy, Float32[0])
        calls = [Mdist.prepare(Mdist.barrier, strategy, own) for own in 0:1]
        threads = [Set{Int}() for _ in 1:2]
        for _ in 1:200
            run(strategy) do replica
                Mdist.average_loss(replica, Float32[1, 2])
                push!(threads[local_index(replica) + 1], Threads.threadid())
                Mdist.tensor(gradients, replica, 1) .= 1
                Mdist.ready!(replica, gradients, 1)
                Mdist.wait!(replica, gradients)
                Mdist.barrier(replica)
                results = Mdist.merge_call(replica, Float32[1]; results = 1) do values
                    Mdist.reduce_to(strategy, Mdist.SUM, values)
                end
                only(results) == Float32[2] || error("the merge gave $results")
                Mdist.barrier(replica)
                Mdist.run!(replica, calls[local_index(replica) + 1])
            end
        end
        @test isempty(intersect(threads...)) && all(ids -> length(ids) == 1, threads)
    end

    @testset "what a replica waits for happens while another blocks thread 1" begin
        for _ in 1:10
            run(two_replicas()) do replica
                local_index(replica) == 1 && (success(`true`) || error("no success")) # its end is an event
                Mdist.merge_call(() -> nothing, replica)
            end
        end
        @test true
    end

    @testset "runs at the same time have threads of their own" begin
        outer, inner = two_replicas(), two_replicas()
        entered, finished = Base.Event(), Base.Event()
        first_run = @async run(outer) do replica
            local_index(replica) == 0 && notify(entered)
            wait(finished)
            Mdist.merge_call(() -> nothing, replica)
        end
        wait(entered)
        failed = thrown(() -> run(replica -> (Mdist.barrier(replica); Mdist.merge_call(() -> nothing, replica)), inner))
        notify(finished)
        wait(first_run)
        if Threads.nthreads() >= 4
            @test failed === nothing
        else
            @test failed isa ArgumentError && occursin("which other runs use", failed.msg)
        end
    end

    @testset "a merge function makes a run" begin
        outer, inner = two_replicas(), two_replicas()
        sums = zeros(2)
        run(outer) do replica
            Mdist.merge_call(replica) do
                run(inner) do other
                    x = [1.0]
                    all_reduce!(other, Mdist.SUM, x)
                    sums[local_index(other) + 1] = x[1]
                end
                nothing
            end
        end
        @test sums == [2, 2]
    end
end

@testset "a replica lends its thread to a run of its merge function" begin
    outer, inner = strategy_of(1), strategy_of(1)
    merged = false
    run(outer) do replica
        Mdist.merge_call(replica) do
            run(other -> Mdist.merge_call(() -> (merged = true; nothing), other), inner)
            nothing
        end
    end
    @test merged
    @test all(isequal(nothing), Mdist.OWNERS)
end
