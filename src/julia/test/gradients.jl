# SPDX-License-Identifier: Apache-2.0
# The training is that of tests/ffi/gradients.c, and ends in the same bits.
const POINTS, ROUNDS, WEIGHTS = 4, 2, 5

function point_input(id, round, point, weight)
    number = Float64((id * ROUNDS + round) * POINTS + point)
    return (number - 11.5) / 8.0 + Float64((weight * 7 + point * 3) % 5) * 0.25
end

function compute_gradients(replica, gradients, parameters, round)
    id = replica_id(replica)
    wrong = zeros(POINTS)
    for i in 0:(POINTS - 1)
        found, wanted = parameters[WEIGHTS + 1], 3.0
        for j in 0:(WEIGHTS - 1)
            found += parameters[j + 1] * point_input(id, round, i, j)
            wanted += (0.5 - 0.125 * j) * point_input(id, round, i, j)
        end
        wrong[i + 1] = found - wanted
    end
    b = Mdist.tensor(gradients, replica, 2)
    b[] = 0
    for one in wrong
        b[] += one / POINTS
    end
    Mdist.ready!(replica, gradients, 2)
    a = Mdist.tensor(gradients, replica, 1)
    for j in 0:(WEIGHTS - 1)
        a[j + 1] = 0
        for i in 0:(POINTS - 1)
            a[j + 1] += wrong[i + 1] * point_input(id, round, i, j) / POINTS
        end
    end
    Mdist.ready!(replica, gradients, 1)
end

function train_with_gradients()
    strategy = strategy_of(2)
    gradients = Gradients(strategy, (Float64, (WEIGHTS,)), (Float64, ()); op = Mdist.MEAN, bucket_bytes = 8, clip_norm = 1)
    parameters = [zeros(WEIGHTS + 1) for _ in 1:2]
    norms = zeros(2)
    output = IOBuffer()
    bits(number) = string(reinterpret(UInt64, number); base = 16, pad = 16)
    for _ in 1:25
        run(strategy) do replica
            own = parameters[replica_id(replica) + 1]
            for round in 0:(ROUNDS - 1)
                round + 1 < ROUNDS && Mdist.accumulate!(replica, gradients)
                compute_gradients(replica, gradients, own, round)
                norm, finite = Mdist.wait!(replica, gradients)
                finite || error("not finite")
                norms[replica_id(replica) + 1] = norm
            end
            a = Mdist.tensor(gradients, replica, 1)
            for j in 1:WEIGHTS
                own[j] -= 0.25 * a[j]
            end
            own[WEIGHTS + 1] -= 0.25 * Mdist.tensor(gradients, replica, 2)[]
        end
        println(output, "norm ", bits(norms[1]))
    end
    foreach(one -> println(output, "parameter ", bits(one)), parameters[1])
    @test parameters[1] == parameters[2]
    return String(take!(output))
end

@testset "a round ends by asking in a loop, on any number of threads" begin
    strategy = strategy_of(2)
    gradients = Gradients(strategy, (Float32, (3,)))
    found = Any[nothing, nothing]
    run(strategy) do replica
        Mdist.tensor(gradients, replica, 1) .= 1
        Mdist.ready!(replica, gradients, 1)
        ended = Mdist.test!(replica, gradients)
        while ended === nothing
            sleep(0.001)
            ended = Mdist.test!(replica, gradients)
        end
        found[replica_id(replica) + 1] = ended
    end
    @test found == [(sqrt(12.0), true), (sqrt(12.0), true)]
    @test Mdist.tensor(gradients, 1, 1) == Float32[2, 2, 2]
end

if Threads.nthreads() >= 2
    @testset "training with gradients ends in the bits of the C program" begin
        @test train_with_gradients() == read(`$(ENV["FFI_GRADIENTS"])`, String)
    end

    @testset "gradients that are missing or ready twice are refused" begin
        strategy = strategy_of(2)
        weights, bias = Variable(strategy, "weights", Float32[0, 0]), Variable(strategy, "bias", fill(0.0f0))
        half(gradients) = run(strategy) do replica
            Mdist.tensor(gradients, replica, 1)[2] = 1
            Mdist.ready!(replica, gradients, 1)
            Mdist.wait!(replica, gradients)
        end
        missing_one = thrown(() -> half(Gradients(strategy, weights, bias)))
        @test missing_one isa MdistError && missing_one.reason == "gradients_missing"
        @test occursin("bias", missing_one.message)
        gradients = Gradients(strategy, weights, bias; zero_missing = true)
        Mdist.tensor(gradients, 1, 2)[] = 5
        half(gradients)
        @test Mdist.tensor(gradients, 1, 1) == Float32[0, 2]
        @test Mdist.tensor(gradients, 1, 2)[] == 0
        twice = thrown() do
            run(strategy) do replica
                Mdist.ready!(replica, gradients, 2)
                Mdist.ready!(replica, gradients, 2)
            end
        end
        @test twice isa MdistError && twice.reason == "ready_twice"
    end
else
    @testset "waiting for gradients says how many threads it needs" begin
        strategy = strategy_of(2)
        gradients = Gradients(strategy, Float32[0])
        failure = thrown(() -> run(replica -> Mdist.wait!(replica, gradients), strategy))
        @test failure isa ArgumentError && occursin("--threads 2", failure.msg)
    end
end
