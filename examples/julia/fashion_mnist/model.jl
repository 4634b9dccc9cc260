# SPDX-License-Identifier: Apache-2.0
# Model: a perceptron 784-128-10 (ReLU, softmax, cross-entropy). It does the same operations as the C
# program, with the same functions (OpenBLAS, expf and logf of the C library), so the bits are the same.
#
# A row-major matrix [rows][columns] of the C program is an array (columns, rows) here, with the same bytes.

const openblas = "libopenblas.so.0" # has 32-bit integers; Julia's own has 64-bit integers
const libm = "libm.so.6"

const INPUTS, HIDDEN, CLASSES = PIXELS, 128, 10
const PART_NAMES = ("hidden/weights", "hidden/bias", "output/weights", "output/bias")
const PART_SIZES = ((HIDDEN, INPUTS), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,))

const Matrix32 = DenseArray{Float32,2}
const Vector32 = DenseArray{Float32,1}
const Parts = Tuple{Matrix32,Vector32,Matrix32,Vector32}

single_threaded_sums() = @ccall openblas.openblas_set_num_threads(1::Cint)::Cvoid
exp32(x::Float32) = @ccall libm.expf(x::Cfloat)::Cfloat
log32(x::Float32) = @ccall libm.logf(x::Cfloat)::Cfloat

"c[m][n] = op(a) * op(b) + beta * c, all row-major; op transposes what is marked."
function sgemm!(c, a, b, m, n, k; transposed_a = false, transposed_b = false, beta)
    row_major, plain, transposed = 101, 111, 112
    lda, ldb = transposed_a ? m : k, transposed_b ? k : n
    @ccall openblas.cblas_sgemm(
        row_major::Cint, (transposed_a ? transposed : plain)::Cint, (transposed_b ? transposed : plain)::Cint,
        m::Cint, n::Cint, k::Cint, 1.0f0::Cfloat, a::Ptr{Cfloat}, lda::Cint, b::Ptr{Cfloat}, ldb::Cint,
        beta::Cfloat, c::Ptr{Cfloat}, n::Cint)::Cvoid
    return nothing
end

"Activations and their gradients for up to `rows` images. The totals are loss, correct answers and rows."
struct Workspace
    hidden::Matrix{Float32}
    hidden_gradient::Matrix{Float32}
    output::Matrix{Float32}
    images::Matrix{Float32}
    totals::Vector{Float64}
end

function Workspace(rows::Int)
    sizes = (HIDDEN, HIDDEN, CLASSES, INPUTS)
    return Workspace((zeros(Float32, size, rows) for size in sizes)..., zeros(3))
end

"splitmix64: gives the next state and its number."
function next_random(state::UInt64)
    state += 0x9e3779b97f4a7c15
    bits = (state ⊻ (state >> 30)) * 0xbf58476d1ce4e5b9
    bits = (bits ⊻ (bits >> 27)) * 0x94d049bb133111eb
    return state, bits ⊻ (bits >> 31)
end

"Returns random weights by He's rule, and biases of 0."
function initial_parts(seed::UInt64)
    parts = map(size -> zeros(Float32, size), PART_SIZES)
    state = seed
    for (weights, inputs) in ((parts[1], INPUTS), (parts[3], HIDDEN))
        bound = sqrt(6.0f0 / Float32(inputs))
        for i in eachindex(weights)
            state, bits = next_random(state)
            unit = Float32(bits >> 40) / 16777216.0f0
            weights[i] = bound * (2.0f0 * unit - 1.0f0)
        end
    end
    return parts
end

function layer_forward!(result, input, weights, bias, rows, inputs, outputs)
    for row in 1:rows, i in 1:outputs
        result[i, row] = bias[i]
    end
    sgemm!(result, input, weights, rows, outputs, inputs; beta = 1.0f0)
    return nothing
end

function layer_backward!(weights_gradient, bias_gradient, input, output_gradient, rows, inputs, outputs)
    sgemm!(weights_gradient, input, output_gradient, inputs, outputs, rows; transposed_a = true, beta = 0.0f0)
    fill!(bias_gradient, 0.0f0)
    for row in 1:rows, i in 1:outputs
        bias_gradient[i] += output_gradient[i, row]
    end
    return nothing
end

"Replaces logits by the gradient of the cross-entropy (softmax minus the right answer). Adds to the totals."
function softmax_cross_entropy!(output, labels, rows, totals)
    for row in 1:rows
        answer = 1
        for i in 2:CLASSES
            output[i, row] > output[answer, row] && (answer = i)
        end
        label = labels[row] + 1
        largest = output[answer, row]
        right = output[label, row] - largest
        sum = 0.0f0
        for i in 1:CLASSES
            output[i, row] = exp32(output[i, row] - largest)
            sum += output[i, row]
        end
        for i in 1:CLASSES
            output[i, row] /= sum
        end
        output[label, row] -= 1.0f0
        totals[1] += log32(sum) - right
        totals[2] += answer == label
        totals[3] += 1
    end
    return nothing
end

"Converts `pixels` to floats from 0 to 1. Sums the loss and counts correct answers. There may be no rows."
function evaluate!(work::Workspace, parts::Parts, pixels, labels)
    rows = length(labels)
    fill!(work.totals, 0.0)
    rows == 0 && return rows
    for i in 1:(rows * INPUTS)
        work.images[i] = Float32(pixels[i]) * (1.0f0 / 255.0f0)
    end
    layer_forward!(work.hidden, work.images, parts[1], parts[2], rows, INPUTS, HIDDEN)
    for i in 1:(rows * HIDDEN)
        work.hidden[i] = work.hidden[i] > 0.0f0 ? work.hidden[i] : 0.0f0
    end
    layer_forward!(work.output, work.hidden, parts[3], parts[4], rows, HIDDEN, CLASSES)
    softmax_cross_entropy!(work.output, labels, rows, work.totals)
    return rows
end

"Does the same, and overwrites the gradients with those of the summed loss."
function gradients!(gradients::Parts, work::Workspace, parts::Parts, pixels, labels)
    rows = evaluate!(work, parts, pixels, labels)
    if rows == 0
        foreach(gradient -> fill!(gradient, 0.0f0), gradients)
        return nothing
    end
    layer_backward!(gradients[3], gradients[4], work.hidden, work.output, rows, HIDDEN, CLASSES)
    sgemm!(work.hidden_gradient, work.output, parts[3], rows, HIDDEN, CLASSES; transposed_b = true, beta = 0.0f0)
    for i in 1:(rows * HIDDEN)
        work.hidden[i] <= 0.0f0 && (work.hidden_gradient[i] = 0.0f0)
    end
    layer_backward!(gradients[1], gradients[2], work.images, work.hidden_gradient, rows, INPUTS, HIDDEN)
    return nothing
end

"Does one step of SGD with momentum. Tiny momentum is set to 0: subnormal numbers are slow."
function update!(parts::Parts, momentum::Parts, gradients::Parts, scale::Float32, rate::Float32, decay::Float32)
    foreach(parts, momentum, gradients) do part, speed, gradient
        for i in eachindex(part, speed, gradient)
            next = decay * speed[i] + scale * gradient[i]
            speed[i] = abs(next) < floatmin(Float32) ? 0.0f0 : next
            part[i] -= rate * speed[i]
        end
    end
    return nothing
end
