# SPDX-License-Identifier: Apache-2.0
# What of elastic jobs can be shown in one process of fixed size; ../elastic.jl has the rest.

@testset "a job of fixed size is not elastic" begin
    strategy = strategy_of(2)
    for call in (() -> Mdist.commit(strategy, 1), () -> Mdist.regroup(strategy))
        refused = thrown(call)
        @test refused isa MdistError && refused.reason == "not_elastic"
    end
    @test !Mdist.is_joining(strategy)
end

@testset "blobs are kept until they are closed, and mistakes are sentences" begin
    strategy = strategy_of(2)
    Mdist.Blob(strategy, "kept", UInt64[1, 2])
    GC.gc()
    taken = thrown(() -> Mdist.Blob(strategy, "", UInt64[1, 2]))
    @test taken isa MdistError && taken.status == Mdist.ERR_INVALID_ARGUMENT
    few = thrown(() -> Mdist.Blob(strategy, "few", [1.0]))
    @test few isa ArgumentError && occursin("1 states for 2 replicas", few.msg)
    @test thrown(() -> Mdist.Blob(strategy, "texts", ["a", "b"])) isa ArgumentError
    @test length(strategy.blobs) == 1
    close(strategy.blobs[1])
    @test isempty(strategy.blobs)
end

@testset "what a blob's functions do goes through C" begin
    failed, seen = Mdist.BlobFunctions((id, to) -> error("nothing to save"), (id, from) -> nothing, nothing), []
    functions = Mdist.BlobFunctions((id, to) -> to[1] = id + 1, (id, from) -> push!(seen, id => from), nothing)
    memory = fill(0x09, 3)
    GC.@preserve failed functions memory begin
        save(own) = Mdist.save_blob(UInt32(4), pointer(memory), Csize_t(3), pointer_from_objref(own))
        @test save(functions) == 0 && memory == [5, 0, 0]
        @test Mdist.restore_blob(UInt32(4), pointer(memory), Csize_t(3), pointer_from_objref(functions)) == 0
        @test seen == [4 => UInt8[5, 0, 0]]
        @test save(failed) != 0 && failed.failure[1] == ErrorException("nothing to save")
    end
end
