# SPDX-License-Identifier: Apache-2.0
# Trains a small network on several mirrored replicas. The network classifies images of clothes into ten kinds. It
# computes the same as examples/fashion_mnist in C and ends with the same weights, bit for bit.
#
#   julia --project=src/julia --threads 4 examples/julia/fashion_mnist.jl --replicas 4 --epochs 3
using Mdist
using Printf

include("fashion_mnist/options.jl")
include("fashion_mnist/mnist.jl")
include("fashion_mnist/model.jl")

const FIRST_RATE = 0.1f0 # learning rate of the first step; it falls linearly to 0
const DECAY = 0.9f0      # momentum is multiplied by this in each step

"One replica's copies of the variables and its scratch memory."
struct TrainerReplica
    parts::Parts
    momentum::Parts
    gradients::Parts
    work::Workspace
end

struct Trainer
    strategy::Strategy
    replicas::Vector{TrainerReplica}
end

function Trainer(strategy::Strategy, max_rows::Int)
    initial = initial_parts(UInt64(1))
    parts = map((name, part) -> Variable(strategy, name, part), PART_NAMES, initial)
    momentum = map((name, part) -> Variable(strategy, "$name/momentum", zero(part)), PART_NAMES, initial)
    replicas = map(0:(Mdist.local_replica_count(strategy) - 1)) do i
        copies(variables) = map(variable -> Mdist.tensor(variable, i), variables)
        gradients = map(size -> Mdist.alloc(Float32, size...), PART_SIZES)
        return TrainerReplica(copies(parts), copies(momentum), gradients, Workspace(max_rows))
    end
    return Trainer(strategy, replicas)
end

"Runs one step on a batch. Returns loss, correct answers and rows, summed over all replicas."
function train!(trainer::Trainer, batch::Vector{Value}, rate::Float32)
    run(trainer.strategy, batch...) do replica
        mine = trainer.replicas[local_index(replica) + 1]
        totals = mine.work.totals
        gradients!(mine.gradients, mine.work, mine.parts, Mdist.argument(replica, 1), Mdist.argument(replica, 2))
        all_reduce!(replica, Mdist.SUM, mine.gradients..., totals)
        update!(mine.parts, mine.momentum, mine.gradients, Float32(1 / totals[3]), rate, DECAY)
    end
    return copy(trainer.replicas[1].work.totals)
end

"Returns the same totals, and does not train."
function evaluate(trainer::Trainer, batch::Vector{Value})
    run(trainer.strategy, batch...) do replica
        mine = trainer.replicas[local_index(replica) + 1]
        evaluate!(mine.work, mine.parts, Mdist.argument(replica, 1), Mdist.argument(replica, 2))
        all_reduce!(replica, Mdist.SUM, mine.work.totals)
    end
    return copy(trainer.replicas[1].work.totals)
end

# The C program converts bytes to floats in the dataset, by a function that a thread of the library calls. Here the step
# converts them.
function input(strategy::Strategy, set::MnistSet, batch_size::Int; seed::Union{Int,Nothing} = nothing)
    dataset = Dataset(set.images, set.labels)
    seed === nothing || (dataset = Mdist.shuffle(dataset, count_of(set); seed))
    return Mdist.distribute(strategy, Mdist.prefetch(Mdist.batch(dataset, batch_size), 2))
end

function train!(trainer::Trainer, dataset::Dataset, images::Int, options::Options)
    per_epoch = cld(images, options.batch)
    limit = options.limit_steps == 0 ? typemax(Int) : options.limit_steps
    steps = 0
    for epoch in 1:options.epochs
        steps < limit || break
        totals, start = zeros(3), time()
        for batch in dataset
            rate = FIRST_RATE * (1.0f0 - Float32(steps) / Float32(per_epoch * options.epochs))
            totals .+= train!(trainer, batch, rate)
            foreach(close, batch)
            steps += 1
            steps < limit || break
        end
        seconds = time() - start
        @printf("epoch %d/%d  loss %.4f  accuracy %.4f  %.0f images/s  %.1f s\n", epoch, options.epochs,
            totals[1] / totals[3], totals[2] / totals[3], totals[3] / seconds, seconds)
    end
    return nothing
end

function accuracy(trainer::Trainer, dataset::Dataset)
    totals = zeros(3)
    for batch in dataset
        totals .+= evaluate(trainer, batch)
        foreach(close, batch)
    end
    return totals[2] / totals[3]
end

"64-bit FNV-1a over the bytes of all variables, in the order in which they were made."
function digest(replica::TrainerReplica)
    digest = 0xcbf29ce484222325
    for part in (replica.parts..., replica.momentum...), byte in reinterpret(UInt8, vec(Array(part)))
        digest = (digest ⊻ byte) * 0x00000100000001b3
    end
    return digest
end

function main(arguments::Vector{String})
    options = parse_options(arguments)
    training, test = load_set(options.data, "train"), load_set(options.data, "t10k")
    # More threads would sum in another order, with other bits. The replicas use the other cores.
    single_threaded_sums()
    strategy = Strategy("devices" => "cpu*$(options.replicas)")
    trainer = Trainer(strategy, options.batch)
    println("$(count_of(training)) images, $(replica_count(strategy)) replicas, batches of $(options.batch)")
    train!(trainer, input(strategy, training, options.batch; seed = 1234), count_of(training), options)
    right = accuracy(trainer, input(strategy, test, options.batch))
    digests = map(digest, trainer.replicas)
    all(==(digests[1]), digests) || error("replicas ended with different weights: $digests")
    @printf("weights digest: %016x\ntest accuracy: %.4f\n", digests[1], right)
    return nothing
end

main(ARGS)
