# SPDX-License-Identifier: Apache-2.0
@testset "structures go in and come out" begin
    strategy = strategy_of(2)
    value = Value((grads = (Float32[1, 2], 3.0), loss = Value(Int32(4))))
    @test Mdist.kind(value) == Mdist.VALUE_STRUCTURE
    @test Mdist.paths(value) == ["grads.0", "grads.1", "loss"]
    @test Array(value["grads.0"][1]) == Float32[1, 2]
    @test Mdist.paths(value["grads"]) == ["0", "1"]
    @test thrown(() -> value["grad"]).status == Mdist.ERR_NOT_FOUND
    results = run(strategy, value; results = 1) do replica
        x = Mdist.argument(replica, 1, "grads.0")
        size(Mdist.device_argument(replica, 1, "grads.0")) == size(x) || error("of another size")
        Mdist.set_result!(replica, 1, Dict("sums" => (Float32[sum(x) + replica_id(replica)],), "count" => Int32[2]))
    end
    @test Mdist.paths(only(results)) == ["count", "sums.0"]
    total = Mdist.reduce(strategy, Mdist.SUM, only(results))
    @test Array(total["sums.0"][1]) == Float32[7]
    each = [Value(strategy, [Float32[i], Float32[1]]) for i in 1:3]
    @test [Array(one[1]) for one in Mdist.batch_reduce_to(strategy, Mdist.SUM, each)] == [[2], [3], [4]]
    @test_throws ArgumentError Mdist.batch_reduce_to(strategy, Mdist.SUM, each, ["cpu:0"])
end

@testset "rows are joined and assigned" begin
    strategy = strategy_of(2)
    rows = Mdist.sparse(Value(strategy, [Int64[2], Int64[0, 1]]), Value(strategy, [Float32[5], Float32[6, 7]]))
    @test Array(Mdist.indices(rows, 2)) == [0, 1]
    @test Mdist.indices(Value(1.0f0)) === nothing
    total = Mdist.reduce(strategy, Mdist.SUM, rows)
    table = Variable(strategy, "table", zeros(Float32, 4))
    Mdist.assign!(table, total, Mdist.ASSIGN_ADD)
    @test Mdist.tensor(table, 1) == Float32[6, 7, 5, 0]
end

@testset "only the root gets, and only the root gives" begin
    strategy = strategy_of(3)
    run(strategy) do replica
        id = replica_id(replica)
        x, everything, part = Int32[id + 1], zeros(Int32, id == 1 ? 3 : 0), zeros(Int32, 1)
        Mdist.reduce_to_root!(replica, Mdist.SUM, 2, x)
        x == Int32[(1, 2, 6)[id + 1]] || error("reduce_to_root! gave $x")
        Mdist.gather_to_root!(replica, 1, Int32[10id] => everything)
        id != 1 || everything == [0, 10, 20] || error("gather_to_root! gave $everything")
        Mdist.scatter!(replica, 1, everything => part)
        part == [10id] || error("scatter! gave $part")
        own = (Float32[1, 2, 3], Float32[4], Float32[])[id + 1]
        loss, examples = Mdist.average_loss(replica, own)
        sums = [loss, Mdist.scale_regularization(replica, [3.0, 6.0])]
        all_reduce!(replica, Mdist.SUM, sums)
        examples == 4 && sums == [2.5, 9.0] || error("losses are $sums of $examples examples")
    end
    @test true
end

@testset "any number of replicas restores a checkpoint" begin
    mktempdir() do folder
        @test Mdist.latest_checkpoint(folder) === nothing
        saving = strategy_of(2)
        checkpoint = Checkpoint(saving, folder; keep = 2)
        Mdist.add!(checkpoint, Variable(saving, "weights", Float32[1 2; 3 4]), "model/w")
        GC.gc() # the checkpoint keeps it
        checkpoint["epoch"] = 7
        @test keys(checkpoint) == ["epoch"]
        Mdist.save(checkpoint, 3)
        @test Mdist.latest_checkpoint(folder) == 3
        for replicas in 1:3
            strategy = strategy_of(replicas)
            weights = Variable(strategy, "w", zeros(Float32, 2, 2))
            restored = Checkpoint(strategy, folder)
            @test thrown(() -> Mdist.restore!(restored)).reason == "different_variables"
            Mdist.add!(restored, weights, "model/w")
            @test Mdist.restore!(restored, 4) === nothing
            @test Mdist.restore!(restored) == 3
            @test Mdist.tensor(weights, replicas - 1) == Float32[1 2; 3 4]
            @test restored["epoch"] == "7"
        end
    end
end

@testset "an announcement ends the program at the next check" begin
    strategy = strategy_of(2)
    @test Mdist.check_membership(strategy) == (Mdist.VERDICT_GO_ON, -1)
    Mdist.leave(strategy)
    @test Mdist.check_membership(strategy) == (Mdist.VERDICT_END, 0)
    Mdist.check_health(strategy)
    Mdist.abort(strategy)
    @test thrown(() -> Mdist.check_health(strategy)).status == Mdist.ERR_ABORTED
end
