# SPDX-License-Identifier: Apache-2.0
# An operator in a job of several workers. Prints what came of it.
using Mdist

strategy = Strategy("devices" => "cpu*2") # begins with the environment, and so joins the job
@assert Mdist.worker_count(strategy) == 2 && Mdist.rank(strategy) == parse(Int, ENV["MDIST_RANK"])
add = Mdist.Operator(+, "add", Float64)
xs = [ones(100_000) for _ in 1:2]
try
    run(replica -> all_reduce!(replica, add, xs[local_index(replica) + 1]), strategy)
    println(all(x -> all(==(replica_count(strategy)), x), xs) ? "the sum" : "wrong numbers")
catch error
    println(error isa MdistError ? error.message : string(error))
end
