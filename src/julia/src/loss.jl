# SPDX-License-Identifier: Apache-2.0
"""
    average_loss(replica, per_example, weights = nothing; global_batch = 0)

This replica's part of the mean loss over the examples of all replicas, so that the sum over replicas is that mean, and
the number of those examples, by which the gradient of an element is its weight divided. Examples lie along the last
dimension; they are counted, by all replicas together, where `global_batch` is 0.
"""
function average_loss(
    replica::Replica, per_example::StridedArray, weights::Union{StridedArray,Nothing} = nothing;
    global_batch::Integer = 0,
)
    # The library would wait for the others in C; see Work.
    examples = UInt64[global_batch == 0 ? size(per_example, ndims(per_example)) : global_batch]
    global_batch == 0 && all_reduce!(replica, SUM, examples)
    if examples[1] == 0 # nobody has any
        return 0.0, 0
    end
    loss = Ref{Float64}(0)
    GC.@preserve per_example weights begin
        described = Ref(mdist_tensor_t(per_example))
        weighted = weights === nothing ? mdist_tensor_t[] : [mdist_tensor_t(weights)]
        some = weights === nothing ? Ptr{mdist_tensor_t}(C_NULL) : pointer(weighted)
        GC.@preserve weighted check() do error
            @ccall libmdist.mdist_average_loss(
                replica::Ptr{mdist_replica_t}, described::Ref{mdist_tensor_t}, some::Ptr{mdist_tensor_t},
                examples::Ptr{UInt64}, loss::Ref{Cdouble}, C_NULL::Ptr{mdist_call_options_t},
                error::Out{mdist_error_t})::Int32
        end
    end
    return loss[], Int(examples[1])
end

"The sum of `terms`, which are the same on all replicas, divided by the number of those."
function scale_regularization(replica::Replica, terms::StridedArray)
    loss = Ref{Float64}(0)
    GC.@preserve terms begin
        described = Ref(mdist_tensor_t(terms))
        check() do error
            @ccall libmdist.mdist_scale_regularization(
                replica::Ptr{mdist_replica_t}, described::Ref{mdist_tensor_t}, loss::Ref{Cdouble},
                error::Out{mdist_error_t})::Int32
        end
    end
    return loss[]
end
