# SPDX-License-Identifier: Apache-2.0
@testset "shapes are reversed, bytes are not" begin
    strategy = strategy_of(1)
    value = Value(reshape(collect(Int32, 1:6), 2, 3)) # [3][2] in the library
    @test size(value[1]) == (2, 3)
    @test Mdist.kind(value) == Mdist.VALUE_PLAIN
    @test value[end] == value[begin] == reshape(1:6, 2, 3)
    of_replicas = Value(strategy, [value[1]])
    columns = Mdist.reduce(strategy, Mdist.SUM, of_replicas; dims = (1,))
    @test Array(columns[1]) == [3, 7, 11]
    rows = Mdist.reduce(strategy, Mdist.SUM, of_replicas; dims = (2,))
    @test Array(rows[1]) == [9, 12]
    @test Array(Value(2.5)[1]) == fill(2.5)
    @test_throws BoundsError value[2]
end

@testset "every element type goes in and comes out" begin
    for T in values(Mdist.ELEMENT_TYPES)
        T === (isdefined(Core, :BFloat16) ? Core.BFloat16 : Nothing) && continue # has no arithmetic of its own
        array = T === Bool ? [true, false, true] : T[1, 2, 3]
        @test Array(Value(array)[1]) == array
        @test eltype(Value(array)[1]) == T
    end
    @test_throws ArgumentError Value([1 + 2im])
    @test_throws ArgumentError Value(view(zeros(4, 4), 1:2, :))
    @test Array(Value(view(Float32[1, 2, 3], 2:3))[1]) == Float32[2, 3]
end

@testset "values of replicas are reduced and joined" begin
    strategy = strategy_of(3)
    each = Value(strategy, [fill(Float32(i), 2, i) for i in 1:3])
    @test length(each) == 3
    @test size(Mdist.gather(strategy, each, 2)[1]) == (2, 6)
    same = Mdist.broadcast_to(strategy, Float32[1, 2])
    @test Mdist.kind(same) == Mdist.VALUE_MIRRORED
    total = Mdist.reduce(strategy, Mdist.SUM, Value(strategy, (Float32[i] for i in 1:3)))
    @test Array(total[1]) == Float32[6]
end

@testset "a dataset gives its elements, cut over replicas" begin
    strategy = strategy_of(2)
    pixels, answers = reshape(UInt8.(0:19), 2, 10), collect(Int32, 1:10)
    dataset = Mdist.distribute(strategy, Mdist.prefetch(Mdist.batch(Dataset(pixels, answers), 4), 2))
    @test Mdist.component_count(dataset) == 2
    sizes, seen = [], Int32[]
    for (images, labels) in dataset
        push!(sizes, [size(part) for part in images])
        foreach(part -> append!(seen, part), labels)
    end
    @test sizes == [[(2, 2), (2, 2)], [(2, 2), (2, 2)], [(2, 1), (2, 1)]]
    @test seen == answers
    order(source) = [only(element)[1][] for element in source]
    shuffled = Mdist.shuffle(Dataset(answers), 10; seed = 1234, reshuffle_each_iteration = false)
    @test order(shuffled) == order(shuffled) != answers
    @test sort(order(shuffled)) == answers
    @test order(repeat(Mdist.shard(Dataset(answers), 5, 1), 2)) == [2, 7, 2, 7]
end

@testset "memory of the library is zeros, aligned" begin
    for strategy in (nothing, strategy_of(2))
        x = Mdist.alloc(Float32, 3, 5; strategy)
        @test size(x) == (3, 5) && all(iszero, x)
        @test UInt(pointer(x)) % 64 == 0
        x .= 1
        @test sum(x) == 15
    end
    @test isempty(Mdist.alloc(UInt8, 0))
end

@testset "a config takes keys, and says what they are" begin
    config = Config()
    config["communication.timeout"] = "90s"
    @test config["communication.timeout"] == "90s"
    withenv("MDIST_DEVICES" => "cpu*3") do
        @test Config()["devices"] == "cpu*3"
        @test replica_count(Strategy("communication.timeout" => "90s")) == 3
        @test replica_count(Strategy("devices" => "cpu*2")) == 2
        @test empty(Config)["devices"] == "auto"
        loaded = Mdist.load_environment!(empty(Config))
        @test loaded["devices"] == "cpu*3"
        mktempdir() do folder
            write(joinpath(folder, "config.yaml"), "devices: cpu*5\n")
            @test Mdist.load!(loaded, joinpath(folder, "config.yaml"))["devices"] == "cpu*5"
        end
    end
    strategy = strategy_of(2)
    @test Mdist.device(strategy, 1) == "cpu:1"
    @test (Mdist.worker_count(strategy), Mdist.rank(strategy), Mdist.is_chief(strategy)) == (1, 0, true)
    @test replica_count(strategy) == Mdist.local_replica_count(strategy) == 2
    @test Mdist.first_replica_id(strategy) == 0
    @test Mdist.version() >= 100
    @test !Mdist.has("nothing of the kind")
end
