# SPDX-License-Identifier: Apache-2.0
@testset "an array keeps what its memory belongs to" begin
    copy_of_variable() = Mdist.tensor(Variable(strategy_of(2), "only the array stays", Float32.(1:1000)), 1)
    tensor_of_value() = Value(Float32.(1:1000))[1]
    allocated() = Mdist.alloc(Float32, 1000) .= 1:1000
    for make in (copy_of_variable, tensor_of_value, allocated)
        arrays = [reshape(make(), 10, 100) for _ in 1:50]
        GC.gc()
        GC.gc()
        @test all(array -> vec(array) == 1:1000, arrays)
    end
end

@testset "collections while replicas run" begin
    strategy = strategy_of(4)
    weights = Variable(strategy, "weights", zeros(Float32, 1000))
    for _ in 1:20
        run(strategy, Value([1.0])) do replica
            for i in 1:5
                gradient = fill(Float32(replica_id(replica)), 1000)
                work = Mdist.all_reduce_start!(replica, Mdist.SUM, gradient)
                replica_id(replica) == i % 4 && GC.gc(false)
                wait(work)
                Mdist.tensor(weights, replica) .+= gradient
            end
        end
    end
    GC.gc()
    @test all(==(600.0f0), Mdist.tensor(weights, 3))
end

"Kilobytes of memory in use."
function resident()
    line = first(Iterators.filter(startswith("VmRSS"), eachline("/proc/self/status")))
    return parse(Int, split(line)[2])
end

"Handles of every kind, left to finalizers in whatever order or closed. Each has at least 64 KiB."
function cycle(closed::Bool)
    strategy = strategy_of(2)
    variable = Variable(strategy, "v", zeros(Float32, 16_384))
    dataset = Mdist.distribute(strategy, Mdist.prefetch(Mdist.batch(Dataset(zeros(UInt8, 16_384, 8)), 4), 1))
    element, _ = iterate(dataset)
    run(replica -> Mdist.barrier(replica), strategy, element...)
    closed && foreach(close, (variable, dataset, strategy, element...))
    return nothing
end

@testset "a thousand cycles leave nothing behind" begin
    grown = 0
    for (cycles, before) in ((200, true), (1000, false))
        for i in 1:cycles
            cycle(isodd(i))
            i % 20 == 0 && GC.gc()
        end
        GC.gc()
        grown = before ? resident() : resident() - grown
    end
    @test grown < 32 * 1024
end
