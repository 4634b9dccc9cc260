# SPDX-License-Identifier: Apache-2.0
# Measures the cost of an empty step. `run` enters each replica as a Julia task; this module has no runs with callbacks.
# Prints the best of five blocks.
using Mdist

function block(strategy, runs)
    start = time_ns()
    for _ in 1:runs
        run(replica -> nothing, strategy)
    end
    return (time_ns() - start) / runs
end

function main(arguments)
    settings = Dict("--replicas" => 2, "--runs" => 1000)
    for (name, value) in zip(arguments[1:2:end], arguments[2:2:end])
        haskey(settings, name) || throw(ArgumentError("$name: no such option; there are --replicas N and --runs M"))
        settings[name] = parse(Int, value)
    end
    replicas, runs = settings["--replicas"], settings["--runs"]
    strategy = Strategy("devices" => "cpu*$replicas")
    block(strategy, 1) # compiles
    best = minimum(block(strategy, runs) for _ in 1:5)
    println("julia entered replicas=$replicas ns_per_run=$(round(Int, best))")
    return nothing
end

main(ARGS)
