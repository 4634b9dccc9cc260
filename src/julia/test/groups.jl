# SPDX-License-Identifier: Apache-2.0
# Groups, parts of any lengths, prepared calls, more types, and gradients in the program's own memory.
@testset "a group's members gather in the order of its list" begin
    strategy = strategy_of(4)
    groups = [Mdist.Group(strategy, [2, 0]), Mdist.Group(strategy, [1, 3])]
    @test length(groups[1]) == 2 && [position(groups[1], id) for id in 0:2] == [1, -1, 0]
    run(strategy) do replica
        id = replica_id(replica)
        group = groups[id % 2 + 1]
        both = zeros(Int64, 2)
        all_gather!(replica, [id] => both; group = group)
        both == (id % 2 == 0 ? [2, 0] : [1, 3]) || error("gathered $both")
        x = [1.5]
        wait(Mdist.all_reduce_start!(replica, Mdist.SUM, x; group = group))
        x == [3.0] || error("summed $x")
        Mdist.barrier(replica; group = group, timeout = 60)
        Mdist.barrier(replica)
    end
    twice = thrown(() -> Mdist.Group(strategy, [1, 1]))
    @test twice isa MdistError && twice.status == Mdist.ERR_INVALID_ARGUMENT
    outside = thrown(() -> run(replica -> Mdist.barrier(replica; group = groups[1]), strategy))
    @test outside isa MdistError && occursin("group {2, 0}", outside.message)
    close(groups[1])
    @test length(groups[1]) == 0
end

@testset "parts of any lengths go to their replicas" begin
    strategy = strategy_of(3)
    run(strategy) do replica
        id = replica_id(replica)
        lengths = [id + other for other in 0:2]
        given = [10id + other for other in 0:2 for _ in 1:(id + other)]
        expected = [10other + id for other in 0:2 for _ in 1:(id + other)]
        taken = zeros(Int64, length(expected))
        Mdist.all_to_all_parts!(replica, lengths => lengths, given => taken)
        taken == expected || error("took $taken")
        few = thrown(() -> Mdist.all_to_all_parts!(replica, [1] => lengths, given => taken))
        few isa ArgumentError && occursin("1 lengths of parts; pass 3", few.msg) || error("threw $few")
    end
    failure = thrown() do
        run(strategy) do replica
            more = replica_id(replica) == 2 ? 1 : 0
            Mdist.all_to_all_parts!(replica, [1, 1, 1] => [1, 1, 1 + more], zeros(3) => zeros(3 + more))
        end
    end
    @test failure isa MdistError && failure.status == Mdist.ERR_MISMATCH
end

@testset "prepared calls give what the collectives give" begin
    strategy = strategy_of(2)
    sums, gathered, parts = [[1.0f0], [2.0f0]], [zeros(Int32, 2) for _ in 1:2], [zeros(Int32, 2), zeros(Int32, 4)]
    scattered, turned, products = [zeros(Int32, 1) for _ in 1:2], [zeros(Int32, 2) for _ in 1:2], [Int32[2], Int32[3]]
    copies, rooted, handed = [Int32[0], Int32[1]], [zeros(Int32, 2) for _ in 1:2], [zeros(Int32, 1) for _ in 1:2]
    calls = map(0:1) do own
        i, id = own + 1, Int32(own)
        (
            Mdist.prepare(all_reduce!, strategy, own, Mdist.SUM, sums[i]),
            Mdist.prepare(all_gather!, strategy, own, [id] => gathered[i]),
            Mdist.prepare(reduce_scatter!, strategy, own, Mdist.MAX, Int32[id, 5] => scattered[i]),
            Mdist.prepare(all_to_all!, strategy, own, Int32[id, 5] => turned[i]),
            Mdist.prepare(Mdist.all_to_all_parts!, strategy, own, [1, 2] => fill(own + 1, 2), fill(id, 3) => parts[i]),
            Mdist.prepare(Mdist.reduce_to_root!, strategy, own, Mdist.PROD, 1, products[i]),
            Mdist.prepare(Mdist.broadcast!, strategy, own, 1, copies[i]),
            Mdist.prepare(Mdist.gather_to_root!, strategy, own, 0, [id] => rooted[i]),
            Mdist.prepare(Mdist.scatter!, strategy, own, 1, Int32[6, 7] => handed[i]),
            Mdist.prepare(Mdist.barrier, strategy, own),
        )
    end
    GC.gc() # the calls keep their arrays
    run(strategy) do replica
        foreach(call -> Mdist.run!(replica, call), calls[local_index(replica) + 1])
    end
    @test sums == [[3], [3]] && gathered == [[0, 1], [0, 1]] && scattered == [[1], [5]] && turned == [[0, 1], [5, 5]]
    @test parts == [[0, 1], [0, 0, 1, 1]] && products[2] == [6] && copies == [[1], [1]]
    @test rooted[1] == [0, 1] && handed == [[6], [7]]
    sums[1][1], sums[2][1] = 10, 20 # it reads its arrays again
    run(replica -> wait(Mdist.start!(replica, calls[local_index(replica) + 1][1])), strategy)
    @test sums == [[30], [30]]
    other = thrown(() -> run(replica -> Mdist.run!(replica, calls[2 - local_index(replica)][1]), strategy))
    @test other isa MdistError && occursin("Create a call for each local replica", other.message)
    missing_one = thrown(() -> Mdist.prepare(Mdist.barrier, strategy, 2))
    @test missing_one isa MdistError && occursin("local_replica is 2; this strategy has 2", missing_one.message)
end

@testset "members alone make the prepared calls of their group" begin
    strategy = strategy_of(3)
    pair = Mdist.Group(strategy, [2, 0])
    sums, gathered, parts = [[0.5], [1.5], [2.5]], [zeros(Int32, 2) for _ in 1:3], [zeros(Int32, 4), Int32[], zeros(Int32, 2)]
    calls = map((0, 2)) do own
        i, id, each = own + 1, Int32(own), own == 2 ? 1 : 2
        own => (
            Mdist.prepare(all_reduce!, strategy, own, Mdist.SUM, sums[i]; group = pair),
            Mdist.prepare(all_gather!, strategy, own, [id] => gathered[i]; group = pair, timeout = 60),
            Mdist.prepare(
                Mdist.all_to_all_parts!, strategy, own, [1, 2] => [each, each], fill(id, 3) => parts[i]; group = pair),
        )
    end
    outsider = thrown(() -> Mdist.prepare(Mdist.barrier, strategy, 1; group = pair))
    @test outsider isa MdistError && occursin("replica 1 is not a member of", outsider.message)
    few = thrown(() -> Mdist.prepare(Mdist.all_to_all_parts!, strategy, 0, [1, 1, 1] => [1, 1, 1], zeros(3) => zeros(3); group = pair))
    @test few isa ArgumentError && occursin("pass 2", few.msg)
    close(pair) # the calls keep what they need of it
    GC.gc()
    run(strategy) do replica
        for (own, made) in calls
            own == local_index(replica) && foreach(call -> Mdist.run!(replica, call), made)
        end
    end
    @test sums == [[3.0], [1.5], [3.0]] && gathered[[1, 3]] == [[2, 0], [2, 0]]
    @test parts[3] == [2, 0] && parts[1] == [2, 2, 0, 0]
end

@testset "messages go by sender and tag" begin
    strategy = strategy_of(3)
    run(strategy) do replica
        id = replica_id(replica)
        right, left = (id + 1) % 3, (id + 2) % 3
        sending = Mdist.send_start!(replica, right, 7, fill(id, 5000))
        taken = zeros(Int64, 5000)
        Mdist.receive!(replica, left, 7, taken)
        wait(sending)
        all(==(left), taken) || error("took $(taken[1])")
        Mdist.send!(replica, left, 1, [1.5])
        Mdist.send!(replica, left, 2, [2.5])
        first, later = [0.0], [0.0]
        receiving = Mdist.receive_start!(replica, right, 2, later)
        Mdist.receive!(replica, right, 1, first)
        wait(receiving)
        first == [1.5] && later == [2.5] || error("received $first and $later")
    end
    differ = thrown() do
        run(strategy) do replica
            replica_id(replica) == 0 && Mdist.send!(replica, 1, 5, [1.0, 2.0])
            replica_id(replica) == 1 && Mdist.receive!(replica, 0, 5, zeros(3))
        end
    end
    @test differ isa MdistError && differ.status == Mdist.ERR_MISMATCH
    alone = thrown() do
        run(replica -> replica_id(replica) == 1 && Mdist.receive!(replica, 0, 5, [0.0]; timeout = 0.01), strategy)
    end
    @test alone isa MdistError && occursin("tag 5", alone.message)
end

@testset "more types, and operations on bits" begin
    run(strategy_of(2)) do replica
        first = replica_id(replica) == 0
        short, bits, either = Int16[first ? -3 : 5], UInt16[first ? 0b1100 : 0b1010], [first]
        all_reduce!(replica, Mdist.AND, short)
        all_reduce!(replica, Mdist.XOR, bits)
        all_reduce!(replica, Mdist.OR, either)
        short == [5] && bits == [0b0110] && either == [true] || error("got $short, $bits and $either")
    end
    value = Value([true false; false true])
    @test value[1] == [true false; false true] && eltype(value[1]) == Bool
end

@testset "a variable is found by its name" begin
    strategy = strategy_of(2)
    weights = Variable(strategy, "weights", Float32[1 2; 3 4])
    found = Mdist.find_variable(strategy, "weights")
    Mdist.tensor(found, 1)[2, 1] = 9
    @test Mdist.tensor(weights, 1) == Float32[1 2; 9 4] && found isa Variable{Float32,2}
    close(weights)
    @test Mdist.tensor(found, 0) == Float32[1 2; 3 4]
    missing_one = thrown(() -> Mdist.find_variable(strategy, "bias"))
    @test missing_one isa MdistError && missing_one.status == Mdist.ERR_NOT_FOUND
end

if Threads.nthreads() >= 2
    @testset "gradients in the program's own memory are reduced where they lie" begin
        strategy = strategy_of(2)
        own, moved = [Float32[1, 2], Float32[4, 5]], [fill(10.0f0, 2), fill(20.0f0, 2)]
        gradients = Mdist.lend(strategy, [own[1]], [own[2]])
        round(at) = run(strategy) do replica
            i = local_index(replica) + 1
            at === nothing ? Mdist.ready!(replica, gradients, 1) : Mdist.ready!(replica, gradients, 1, at[i])
            Mdist.wait!(replica, gradients)
        end
        round(nothing)
        @test own == [[5, 7], [5, 7]]
        round(moved)
        @test moved == [[30, 30], [30, 30]]
        foreach(i -> Mdist.lend!(gradients, i - 1, (moved[i],)), 1:2)
        GC.gc() # the gradients keep their arrays
        round(nothing)
        @test moved == [[60, 60], [60, 60]] && Mdist.tensor(gradients, 0, 1) == [60, 60]
        few = thrown(() -> Mdist.lend(strategy, [own[1]]))
        @test few isa ArgumentError && occursin("lists of 1 arrays for 2 local replicas", few.msg)
        unlike = thrown(() -> run(replica -> Mdist.ready!(replica, gradients, 1, zeros(2)), strategy))
        @test unlike isa ArgumentError && occursin("not like the gradient", unlike.msg)
    end
end
