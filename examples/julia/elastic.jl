# SPDX-License-Identifier: Apache-2.0
# An elastic training: the job goes on when a worker is killed, and ends with the same weights to the last bit.
#
#     export MDIST_ELASTIC_REPLICAS=4
#     mdist launch -n 1:2 -- julia --project=. elastic.jl       # not disturbed
#     mdist launch -n 1:2 -- julia --project=. elastic.jl 17    # in step 17 worker 1 kills itself; a new one takes its place
using Mdist

const last_step = 60
const commit_every = 10

# What all workers create alike before the first step, newcomers too.
mutable struct Training
    strategy::Strategy
    weight::Variable{Float32,1}
    random::Vector{UInt64} # a generator for each replica id
    rows::Mdist.Iterator
    at::Int
    deadly::Int # in this step the worker kills itself
end

function Training(strategy::Strategy)
    weight = Variable(strategy, "weight", zeros(Float32, 2))
    random = fill(UInt64(7), replica_count(strategy))
    Mdist.Blob(strategy, "random", random)
    rows = Mdist.distribute(strategy, Mdist.batch(repeat(Mdist.shuffle(Dataset(0:99), 100; seed = 5), 1000), 8))
    return Training(strategy, weight, random, Mdist.Iterator(rows), 0, last_step)
end

function step(training::Training, replica::Replica)
    training.at == training.deadly && run(`kill -KILL $(getpid())`)
    weight = Mdist.tensor(training.weight, replica)
    gradient = zeros(Float32, 2)
    state = training.random[replica_id(replica) + 1]
    for row in Mdist.argument(replica, 1)
        state = state * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        noise = Float32(state >> 40) / 16777216.0f0 - 0.5f0
        x = Float32(row) / 100
        wrong = weight[1] * x + weight[2] - (3 * x + 0.1f0 * noise)
        gradient .+= (wrong * x, wrong)
    end
    training.random[replica_id(replica) + 1] = state
    all_reduce!(replica, Mdist.SUM, gradient)
    weight .-= 0.02f0 .* gradient
    return nothing
end

# Whether newcomers wait. All workers ask.
changed(strategy) = first(Mdist.check_membership(strategy)) == Mdist.VERDICT_REGROUP

# One step, and now and then a commit. Whether to regroup: newcomers wait. After the last step all meet here.
function go_on(training::Training)
    training.at == last_step && return changed(training.strategy) # regrouped after the last step
    values = Mdist.next!(training.rows)
    run(replica -> step(training, replica), training.strategy, values...)
    training.at += 1
    training.at % commit_every == 0 || return false
    Mdist.commit(training.strategy, training.at)
    return changed(training.strategy)
end

function train(training::Training, full::Int)
    strategy = training.strategy
    must_regroup = Mdist.is_joining(strategy)
    while must_regroup || training.at < last_step
        if must_regroup
            change = Mdist.regroup(strategy) # throws if what failed was no loss of a worker
            training.at, training.deadly = change.step, last_step
            if change.worker_count < full # Not needed: the job could go on with those that are left.
                while !changed(strategy)
                end
                Mdist.commit(strategy, training.at)
                continue
            end
        end
        must_regroup = try
            go_on(training)
        catch exception
            exception isa MdistError || rethrow()
            true
        end
    end
end

training = Training(Strategy())
if !isempty(ARGS) && Mdist.rank(training.strategy) == 1 && !Mdist.is_joining(training.strategy)
    training.deadly = parse(Int, ARGS[1])
end
train(training, parse(Int, ENV["MDIST_ELASTIC_MAX_WORKERS"]))
Mdist.is_chief(training.strategy) && println("weights: ", collect(Mdist.tensor(training.weight, 0)))
changed(training.strategy) # all have read
