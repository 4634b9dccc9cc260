# SPDX-License-Identifier: Apache-2.0
# With several threads (julia --threads 4) more is seen: merges need as many threads as there are replicas.
using Mdist
using Test

strategy_of(replicas, settings...) = Strategy("devices" => "cpu*$replicas", settings...)

"What a function throws; nothing if it does not."
function thrown(f)
    try
        f()
        return nothing
    catch exception
        return exception
    end
end

tested = @testset "Mdist" begin
    include("names.jl")
    include("steps.jl")
    include("threads.jl")
    include("values.jl")
    include("structures.jl")
    include("errors.jl")
    include("elastic.jl")
    include("gradients.jl")
    include("groups.jl")
    include("operators.jl")
    include("input.jl")
    include("lifetimes.jl")
end
foreach(set -> println("ok - ", set.description, ", threads: ", Threads.nthreads()), tested.results)
