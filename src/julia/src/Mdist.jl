# SPDX-License-Identifier: Apache-2.0
"""
Mirrored training: one copy of the model per replica, kept equal, by the C library libmdist.

    strategy = Strategy("devices" => "cpu*4")
    run(strategy) do replica
        x = Float32[replica_id(replica) + 1]
        all_reduce!(replica, Mdist.SUM, x)      # x is [10] on all four
    end

A step runs as one Julia task per replica. The library calls nothing of Julia from its own
threads, except an `Mdist.Operator` in a job of several workers: see `run` and `Work`.

Numbers of replicas count from 0, as in the library and its messages; positions in Julia's collections from 1. Julia's
arrays are column-major and the library's tensors row-major, so shapes are reversed: a batch of 64 images of 784 pixels
is `[64][784]` there and `(784, 64)` here, the same bytes.
"""
module Mdist

using Libdl
using Pkg.Artifacts: artifact_exists, artifact_meta, artifact_path

# Everything else is Mdist.x: other packages have a `batch`, a `tensor` or a `test`, too.
export Checkpoint, Config, Dataset, Gradients, MdistError, Replica, Strategy, Value, Variable
export all_gather!, all_reduce!, all_to_all!, local_index, reduce_scatter!, replica_count, replica_id

include("library.jl")
include("loading.jl")
include("error.jl")
include("handle.jl")
include("config.jl")
include("strategy.jl")
include("array.jl")
include("device_tensor.jl")
include("memory.jl")
include("value.jl")
include("structure.jl")
include("variable.jl")
include("dataset.jl")
include("iterator.jl")
include("input.jl")
include("transforms.jl")
include("sources.jl")
include("gc_safe.jl")
include("work.jl")
include("replica.jl")
include("group.jl")
include("collective.jl")
include("root.jl")
include("parts.jl")
include("message.jl")
include("loss.jl")
include("threads.jl")
include("merge.jl")
include("gradients.jl")
include("operator.jl")
include("prepared.jl")
include("gpu.jl")
include("run.jl")
include("reduce.jl")
include("checkpoint.jl")
include("membership.jl")
include("elastic.jl")

function __init__()
    load_library()
    append!(CALLING_THREADS, zeros(Csize_t, Threads.nthreads()))
    append!(OWNERS, fill(nothing, last(pool_threads())))
    return nothing
end

end
