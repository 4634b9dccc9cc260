# SPDX-License-Identifier: Apache-2.0
# GPUs: run by itself, where the library's module for them is a fake whose memory crashes whoever touches it from the
# host (MDIST_FAKE_GPU=devices=2).
using Mdist
using Test

"What it throws, in words. (@test_throws takes a pattern from Julia 1.8 on.)"
function thrown(call)
    try
        call()
    catch exception
        return sprint(showerror, exception)
    end
    return ""
end

gpu_strategy() = Strategy("devices" => "gpu:0,gpu:1")

@testset "which GPUs there are" begin
    found = Mdist.gpus()
    @test found.count == 2
    @test occursin("gpu:1", found.text)
end

@testset "tensors say where they lie, and are no arrays" begin
    variable = Variable(gpu_strategy(), "w", Float32[1, 2])
    there = Mdist.device_tensor(variable, 1)
    @test (Mdist.device(there), size(there), eltype(there)) == ("gpu:1", (2,), Float32)
    @test Mdist.device(Mdist.device_tensor(Value([1.0]))) == "cpu:0"
    same = Mdist.DeviceTensor(Float32, Mdist.address(there), 2; owner = variable)
    @test Mdist.device(same) == "gpu:1"
    for look in (() -> Mdist.tensor(variable, 1), () -> Value(same)[1])
        @test occursin(r"gpu:1.*copyto!", thrown(look))
    end
    @test occursin("memory of the host", thrown(() -> Mdist.alloc(Float32, 2; strategy = gpu_strategy(), local_replica = 1)))
end

@testset "copies go both ways" begin
    strategy = gpu_strategy()
    numbers = reshape(collect(Float32, 1:6), 2, 3)
    variable = Variable(strategy, "w", zeros(Float32, 2, 3))
    one, other = Mdist.device_tensor(variable, 0), Mdist.device_tensor(variable, 1)
    copyto!(one, numbers)
    copyto!(other, one)
    @test copyto!(zeros(Float32, 2, 3), other) == numbers
    pinned = Mdist.alloc_pinned(Float32, 2, 3)
    @test all(iszero, pinned)
    copyto!(pinned, other)
    @test pinned == numbers
    @test_throws MdistError copyto!(one, vec(numbers))
end

@testset "a step works on its stream" begin
    strategy = gpu_strategy()
    variable = Variable(strategy, "w", zeros(Float32, 2))
    streams = fill(C_NULL, 2)
    result = only(run(strategy; results = 1) do replica
        streams[local_index(replica) + 1] = Mdist.stream(replica)
        Mdist.use_stream!(replica, Mdist.stream(replica))
        own = Mdist.device_tensor(variable, replica)
        copyto!(replica, own, Float32[1, replica_id(replica)])
        all_reduce!(replica, Mdist.SUM, own)
        @test copyto!(replica, zeros(Float32, 2), own) == [2, 1]
        Mdist.set_result!(replica, 1, own)
    end)
    @test allunique(streams) && !(C_NULL in streams)
    @test Mdist.device(Mdist.device_tensor(result, 2)) == "gpu:1"
    @test copyto!(zeros(Float32, 2), Mdist.device_tensor(result, 2)) == [2, 1]
end

@testset "arguments and merges" begin
    strategy = gpu_strategy()
    variable = Variable(strategy, "w", Float32[1, 2])
    given = Value(strategy, [Mdist.device_tensor(variable, i) for i in 0:1])
    run(strategy, given) do replica
        x = Mdist.device_argument(replica, 1)
        @test Mdist.device(x) == "gpu:$(local_index(replica))"
        total = only(Mdist.merge_call(value -> Mdist.reduce(strategy, Mdist.SUM, value), replica, x; results = 1))
        @test total == [2, 4]
    end
end

@testset "a replica on the CPU has no stream" begin
    run(Strategy("devices" => "cpu")) do replica
        @test Mdist.stream(replica) == C_NULL
        Mdist.use_stream!(replica, C_NULL)
    end
end
