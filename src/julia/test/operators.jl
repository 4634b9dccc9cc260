# SPDX-License-Identifier: Apache-2.0
# Reductions of the program's own. They need as many threads as there are replicas, and some versions of Julia have no
# more threads than the host has processors.

"What functions x -> a * x + b become one after the other: associative, not commutative."
composed(f, g) = (f[1] * g[1], f[2] * g[1] + g[2])
affine(id) = (id + 2, 3id + 1)

const REPLICAS = min(Threads.nthreads(), 4)

if REPLICAS >= 2
    @testset "an operator is applied in the order of replicas" begin
        strategy = strategy_of(REPLICAS)
        compose = Mdist.Operator(composed, "compose", NTuple{2,Int64})
        expected = collect(reduce(composed, map(affine, 0:(REPLICAS - 1))))
        parts = [zeros(Int64, 2) for _ in 1:REPLICAS]
        for count in (1, 7, 3000) # of a few elements each replica computes all, of more they share the work
            run(strategy) do replica
                id = replica_id(replica)
                own = repeat(collect(affine(id)), 1, count)
                root, each = copy(own), repeat(own[:, 1], 1, REPLICAS)
                Mdist.reduce_to_root!(replica, compose, 1, root)
                reduce_scatter!(replica, compose, each => parts[id + 1])
                all_reduce!(replica, compose, own; timeout = 60)
                all(own .== expected) || error("composed $own")
                id != 1 || root == own || error("the root has $root")
            end
            @test all(==(expected), parts)
        end
    end

    @testset "prepared calls keep their operator, and its function may collect" begin
        strategy = strategy_of(REPLICAS)
        pairs = [[1.0 2.0; 3.0 4.0] for _ in 1:REPLICAS]
        pair = Mdist.Operator("pair", NTuple{2,Float64}) do left, right
            GC.gc() # while other replicas wait, or do the same
            (left[1] + right[1], left[2] * right[2])
        end
        calls = [Mdist.prepare(all_reduce!, strategy, own - 1, pair, pairs[own]) for own in 1:REPLICAS]
        pair = nothing
        GC.gc()
        run(replica -> Mdist.run!(replica, calls[local_index(replica) + 1]), strategy)
        @test pairs == [[REPLICAS 2REPLICAS; 3.0^REPLICAS 4.0^REPLICAS] for _ in 1:REPLICAS]
        started = thrown(() -> run(replica -> Mdist.start!(replica, calls[local_index(replica) + 1]), strategy))
        @test started isa ArgumentError && occursin("cannot be started", started.msg)
    end

    @testset "what an operator throws fails the call in its words" begin
        strategy = strategy_of(2)
        bad = Mdist.Operator((left, right) -> throw(ArgumentError("no such pair")), "bad", Float64)
        failure = thrown(() -> run(replica -> all_reduce!(replica, bad, [1.0]), strategy))
        @test failure isa MdistError && failure.status == Mdist.ERR_CALLBACK && occursin("no such pair", failure.message)
        run(Mdist.barrier, strategy)
        odd = thrown(() -> run(replica -> all_reduce!(replica, bad, ones(Float32, 3)), strategy))
        @test odd isa MdistError && occursin("8 bytes each", odd.message)
        close(bad)
        @test thrown(() -> run(replica -> all_reduce!(replica, bad, [1.0]), strategy)) isa MdistError
    end
end

@testset "an operator that cannot work is refused" begin
    @test thrown(() -> Mdist.Operator(+, "sum", String)) isa ArgumentError
    unnamed = thrown(() -> Mdist.Operator(+, "", Float64))
    @test unnamed isa MdistError && unnamed.status == Mdist.ERR_INVALID_ARGUMENT
    add = Mdist.Operator(+, "add", Float64)
    few = thrown(() -> run(replica -> all_reduce!(replica, add, [1.0]), strategy_of(Threads.nthreads() + 1)))
    @test few isa ArgumentError && occursin("a thread for each", few.msg)
end
