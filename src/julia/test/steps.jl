# SPDX-License-Identifier: Apache-2.0
@testset "every collective moves what it says" begin
    strategy = strategy_of(3)
    run(strategy) do replica
        id, count = replica_id(replica), replica_count(replica)
        x = Float32[id + 1, 10]
        y = [Float64(id)]
        all_reduce!(replica, Mdist.SUM, x, y)
        x == Float32[6, 30] && y == [3.0] || error("all_reduce! gave $x and $y")

        root = Int32[id]
        Mdist.broadcast!(replica, 2, root)
        root == Int32[2] || error("broadcast! gave $root")

        everybody = zeros(Int64, count)
        all_gather!(replica, Int64[id] => everybody)
        everybody == [0, 1, 2] || error("all_gather! gave $everybody")

        mine = zeros(Float32, 1)
        reduce_scatter!(replica, Mdist.MAX, Float32[id, 2id, 3id] => mine)
        mine == Float32[2 * (id + 1)] || error("reduce_scatter! gave $mine")

        received = zeros(UInt8, count)
        all_to_all!(replica, UInt8[10id, 10id + 1, 10id + 2] => received)
        received == UInt8[id, 10 + id, 20 + id] || error("all_to_all! gave $received")
        Mdist.barrier(replica)
    end
    @test true
end

@testset "every collective can be started" begin
    strategy = strategy_of(2)
    run(strategy) do replica
        id = replica_id(replica)
        root, all, part, turned = [id], zeros(Int, 2), zeros(Int, 1), zeros(Int, 2)
        wait(Mdist.broadcast_start!(replica, 1, root))
        wait(Mdist.all_gather_start!(replica, [id] => all))
        wait(Mdist.reduce_scatter_start!(replica, Mdist.SUM, [1, id] => part))
        wait(Mdist.all_to_all_start!(replica, [id, id + 5] => turned))
        (root, all, part, turned) == ([1], [0, 1], [2 - id], id == 0 ? [0, 1] : [5, 6]) ||
            error("got $root, $all, $part, $turned")

        lengths = id == 0 ? ([0, 1] => [0, 2]) : ([2, 0] => [1, 0])
        moved = zeros(Int, 2 - id)
        wait(Mdist.all_to_all_parts_start!(replica, lengths, fill(id, 1 + id) => moved))
        sum, everything, own = [id + 1], zeros(Int, id == 1 ? 2 : 0), zeros(Int, 1)
        wait(Mdist.reduce_to_root_start!(replica, Mdist.PROD, 0, sum))
        wait(Mdist.gather_to_root_start!(replica, 1, [id] => everything))
        wait(Mdist.scatter_start!(replica, 1, everything => own))
        (moved, sum, own) == (fill(1 - id, 2 - id), [2], [id]) || error("got $moved, $sum, $own")
        wait(Mdist.barrier_start(replica))
    end
    @test true
end

@testset "who waits long lets other tasks of its thread run" begin
    asked, answered = Channel{Int}(1), Channel{Int}(1)
    answers = 0
    run(strategy_of(2)) do replica
        if replica_id(replica) == 0
            other = @async foreach(question -> put!(answered, question + 1), asked) # on this thread
            Mdist.barrier(replica)
            wait(other)
        else
            for question in 1:100
                put!(asked, question)
                answers += take!(answered) == question + 1
            end
            close(asked)
            Mdist.barrier(replica)
        end
    end
    @test answers == 100
end

@testset "what a graph is to record is done each time where nothing is recorded" begin
    calls = 0
    run(strategy_of(1)) do replica
        foreach(_ -> Mdist.graph(() -> calls += 1, replica, 7), 1:2)
    end
    @test calls == 2
end

@testset "a started collective is done when test says so" begin
    strategy = strategy_of(2)
    x = [Float32[1, 2], Float32[3, 4]]
    run(strategy) do replica
        work = Mdist.all_reduce_start!(replica, Mdist.SUM, x[local_index(replica) + 1])
        while !Mdist.test(work)
            yield()
        end
        Mdist.test(work) || error("done, and then it is not")
    end
    @test x[1] == x[2] == Float32[4, 6]
end

@testset "arguments go in, results come out, in replica order" begin
    strategy = strategy_of(2)
    each = Value(strategy, [Float32[1 2; 3 4], Float32[5 6; 7 8]])
    plain = Value(Int32[7])
    results = run(strategy, each, plain; results = 1) do replica
        mine, all = Mdist.argument(replica, 1), Mdist.argument(replica, 2)
        size(mine) == (2, 2) && all[1] == 7 || error("got $mine and $all")
        Mdist.set_result!(replica, 1, [sum(mine), mine[1, 2]])
    end
    @test [Array(sums) for sums in only(results)] == [Float32[10, 2], Float32[26, 6]]
    @test run(replica -> nothing, strategy; results = 1) == [nothing]
end

@testset "a variable's copies are memory that stays" begin
    strategy = strategy_of(2)
    weights = Variable(strategy, "weights", Float32[1 2 3; 4 5 6])
    @test size(Mdist.tensor(weights, 0)) == (2, 3)
    run(strategy) do replica
        mine = Mdist.tensor(weights, replica)
        gradient = fill(Float32(local_index(replica)), size(mine))
        all_reduce!(replica, Mdist.MEAN, gradient)
        mine .-= gradient
    end
    @test Mdist.tensor(weights, 0) == Mdist.tensor(weights, 1) == Float32[0.5 1.5 2.5; 3.5 4.5 5.5]
    @test Array(read(weights)[1]) == Mdist.tensor(weights, 0)
    Mdist.assign!(weights, Value(zeros(Float32, 2, 3)))
    @test all(iszero, Mdist.tensor(weights, 1))
    @test Mdist.name(weights) == "weights"
end

if Threads.nthreads() >= 2
    @testset "a merge happens once, outside of the step" begin
        strategy = strategy_of(2)
        calls = Threads.Atomic{Int}(0)
        run(strategy) do replica
            results = Mdist.merge_call(replica, Float32[replica_id(replica) + 1]; results = 1) do value
                Threads.atomic_add!(calls, 1)
                GC.gc() # the other replica waits in the library meanwhile
                Mdist.reduce_to(strategy, Mdist.SUM, value)
            end
            only(results) == Float32[3] || error("the merge gave $results")
        end
        @test calls[] == 1
        failed = thrown() do
            run(replica -> Mdist.merge_call(() -> throw(KeyError(:merge)), replica), strategy)
        end
        @test failed isa KeyError
        @test isempty(run(replica -> Mdist.barrier(replica), strategy))
    end
end

@testset "a merge with too few threads says so" begin
    replicas = Threads.nthreads() + 1
    failed = thrown(() -> run(replica -> Mdist.merge_call(() -> nothing, replica), strategy_of(replicas)))
    @test failed isa ArgumentError
    @test occursin("--threads $replicas", failed.msg)
end
