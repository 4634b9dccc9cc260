# SPDX-License-Identifier: Apache-2.0
using Mdist

strategy = Strategy("devices" => "cpu*4")

# Runs on every replica at the same time. Sums id + 1 over the replicas: x is [10] on each of them afterwards.
run(strategy) do replica
    x = Float32[replica_id(replica) + 1]
    all_reduce!(replica, Mdist.SUM, x)
    println("replica $(replica_id(replica)) of $(replica_count(replica)): $(x[1])")
end
