#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training of examples/fashion_mnist in Python: same options, same arithmetic, same weights, bit for bit.

NumPy does the operations on single elements. cblas_sgemm multiplies matrices, as in the C program. libm computes
exponentials: those of NumPy have other last bits.

    fashion_mnist.py --replicas 4 --epochs 3
"""
import argparse
import ctypes
import ctypes.util
import gzip
import pathlib
import sys
import time

import numpy as np

import mdist

PIXELS, HIDDEN, CLASSES = 784, 128, 10
SHAPES = {"hidden/weights": (PIXELS, HIDDEN), "hidden/bias": (HIDDEN,),
          "output/weights": (HIDDEN, CLASSES), "output/bias": (CLASSES,)}
LOSS, CORRECT, ROWS = range(3)  # positions in the totals
FIRST_RATE, DECAY = np.float32(0.1), np.float32(0.9)
SHUFFLE_SEED, INITIAL_SEED = 1234, 1
SUM = mdist.ReduceOp.SUM

# ---- C functions that must be the same as in C, for the same bits


def load_blas():
    # One thread per replica: more threads would sum in another order.
    blas = ctypes.CDLL(ctypes.util.find_library("openblas") or "libopenblas.so.0")
    blas.openblas_set_num_threads(1)
    number, real, matrix = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
    blas.cblas_sgemm.argtypes = [number] * 6 + [real, matrix, number, matrix, number, real, matrix, number]
    blas.cblas_sgemm.restype = None
    return blas


blas = load_blas()
expf = ctypes.PyDLL("libm.so.6").expf  # keeps the interpreter's lock: releasing it would cost more than the call
expf.argtypes, expf.restype = [ctypes.c_float], ctypes.c_float


def multiply(left, right, out, beta=0.0):
    """out = left * right + beta * out. left and right may be transposed arrays."""
    row_major, plain, transposed = 101, 111, 112

    def described(matrix):
        if matrix.flags.c_contiguous:
            return plain, matrix.ctypes.data, matrix.shape[1]
        return transposed, matrix.ctypes.data, matrix.shape[0]

    (form_left, left_at, left_stride), (form_right, right_at, right_stride) = described(left), described(right)
    rows, columns = out.shape
    blas.cblas_sgemm(row_major, form_left, form_right, rows, columns, left.shape[1], 1.0, left_at, left_stride,
                     right_at, right_stride, beta, out.ctypes.data, columns)


# ---- Model: a perceptron 784-128-10 (ReLU, softmax, cross-entropy)


def initial_parameters():
    """Returns uniform random weights by He's rule, from splitmix64, and zero biases."""
    drawn, parameters = 0, []
    for shape in SHAPES.values():
        if len(shape) == 1:
            parameters.append(np.zeros(shape, np.float32))
            continue
        count = shape[0] * shape[1]
        step = np.arange(drawn + 1, drawn + count + 1, dtype=np.uint64)
        bits = np.uint64(INITIAL_SEED) + step * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        unit = (bits >> np.uint64(40)).astype(np.float32) / np.float32(16777216)
        bound = np.sqrt(np.float32(6) / np.float32(shape[0]))
        parameters.append((bound * (np.float32(2) * unit - np.float32(1))).reshape(shape))
        drawn += count
    return parameters


def layer(images, weights, bias):
    result = np.empty((len(images), len(bias)), np.float32)
    result[:] = bias
    multiply(images, weights, result, beta=1.0)
    return result


def softmax_cross_entropy(logits, labels, totals):
    """Replaces logits by the gradient of the loss (softmax minus the right answer). Adds to the totals."""
    rows = np.arange(len(logits))
    answers = logits.argmax(axis=1)
    logits -= logits[rows, answers][:, None]
    right = logits[rows, labels]
    logits[:] = np.fromiter(map(expf, logits.ravel().tolist()), np.float32, logits.size).reshape(logits.shape)
    sums = np.zeros(len(logits), np.float32)
    for column in logits.T:  # in this order, as in C
        sums += column
    logits /= sums[:, None]
    logits[rows, labels] -= np.float32(1)
    totals[LOSS] += (np.log(sums) - right).sum(dtype=np.float64)
    totals[CORRECT] += np.count_nonzero(answers == labels)
    totals[ROWS] += len(logits)


def evaluate(parameters, images, labels, totals):
    weights, bias, output_weights, output_bias = parameters
    totals[:] = 0
    hidden = layer(images, weights, bias)
    np.maximum(hidden, np.float32(0), out=hidden)
    output = layer(hidden, output_weights, output_bias)
    softmax_cross_entropy(output, labels, totals)
    return hidden, output


def backward(inputs, output_gradient, weights_gradient, bias_gradient):
    multiply(inputs.T, output_gradient, weights_gradient)
    np.add.reduce(output_gradient, axis=0, out=bias_gradient, initial=0)  # row by row


def compute_gradients(parameters, images, labels, gradients, totals):
    totals[:] = 0
    if len(images) == 0:
        for gradient in gradients:
            gradient[:] = 0
        return
    hidden, output = evaluate(parameters, images, labels, totals)
    backward(hidden, output, gradients[2], gradients[3])
    hidden_gradient = np.empty_like(hidden)
    multiply(output, parameters[2].T, hidden_gradient)
    hidden_gradient[hidden <= 0] = 0
    backward(images, hidden_gradient, gradients[0], gradients[1])


def update(parameters, momentum, gradients, scale, rate):
    """Does one step of SGD with momentum. Subnormal momentum is set to 0, because it is slow."""
    for parameter, moment, gradient in zip(parameters, momentum, gradients):
        moment *= DECAY
        moment += scale * gradient
        moment[np.abs(moment) < np.finfo(np.float32).tiny] = 0
        parameter -= rate * moment


# ---- Data


def read_images(folder, prefix):
    def read(name, header):
        path = folder / f"{prefix}-{name}-ubyte.gz"
        try:
            return np.frombuffer(gzip.open(path).read(), np.uint8, offset=header)
        except OSError as error:
            sys.exit(f"fashion_mnist: {error} (install dataset-fashion-mnist, or say where it is with --data)")

    return read("images-idx3", 16).reshape(-1, PIXELS), read("labels-idx1", 8)


def normalise(inputs, outputs):
    """Converts bytes to floats, batch by batch. 60000 images as floats would need 188 MB."""
    np.multiply(inputs[0], np.float32(1) / np.float32(255), out=outputs[0], casting="unsafe", dtype=np.float32)
    outputs[1][:] = inputs[1]


def create_input(strategy, images, labels, batch, shuffle_seed=None):
    rows = mdist.Dataset.from_tensors(images, labels)
    if shuffle_seed is not None:
        rows = rows.shuffle(len(images), shuffle_seed)
    floats = rows.batch(batch).map(normalise, [("float32", (mdist.UNKNOWN_LENGTH, PIXELS)), ("uint8", (mdist.UNKNOWN_LENGTH,))])
    return strategy.distribute_dataset(floats.prefetch(2))


# ---- Training


class Trainer:
    def __init__(self, strategy):
        self.strategy, self.rate = strategy, FIRST_RATE
        pairs = list(zip(SHAPES, initial_parameters()))
        parameters = [strategy.variable(name, initial) for name, initial in pairs]
        momentum = [strategy.variable(name + "/momentum", ("float32", initial.shape)) for name, initial in pairs]
        locals_ = range(strategy.local_replica_count)
        self.parameters = [[variable.numpy(i) for variable in parameters] for i in locals_]
        self.momentum = [[variable.numpy(i) for variable in momentum] for i in locals_]
        self.gradients = [[mdist.alloc("float32", shape) for shape in SHAPES.values()] for _ in locals_]
        self.totals = [mdist.alloc("float64", (3,)) for _ in locals_]

    def train_step(self, replica, images, labels):
        i = replica.local_index
        compute_gradients(self.parameters[i], images, labels, self.gradients[i], self.totals[i])
        # One operation sums the gradients and the rows. All replicas divide by the sum of the rows.
        replica.all_reduce(SUM, [*self.gradients[i], self.totals[i]])
        scale = np.float32(1 / self.totals[i][ROWS])
        update(self.parameters[i], self.momentum[i], self.gradients[i], scale, self.rate)

    def evaluate_step(self, replica, images, labels):
        i = replica.local_index
        self.totals[i][:] = 0
        if len(images):
            evaluate(self.parameters[i], images, labels, self.totals[i])
        replica.all_reduce(SUM, self.totals[i])

    def weights(self, local_replica):
        return b"".join(array.tobytes() for array in self.parameters[local_replica] + self.momentum[local_replica])


def digest(data):
    """Returns the 64-bit FNV-1a hash."""
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def falling_rate(steps, all_steps):
    return FIRST_RATE * (np.float32(1) - np.float32(steps) / np.float32(all_steps))


def train(trainer, training, rows, options):
    steps, all_steps = 0, -(-rows // options.batch) * options.epochs
    for epoch in range(1, options.epochs + 1):
        if steps == options.limit_steps:
            return
        seen, start = np.zeros(3), time.monotonic()
        for batch in training:
            trainer.rate = falling_rate(steps, all_steps)
            trainer.strategy.run(trainer.train_step, *batch)
            seen += trainer.totals[0]
            steps += 1
            if steps == options.limit_steps:
                break
        seconds = time.monotonic() - start
        print(f"epoch {epoch}/{options.epochs}  loss {seen[LOSS] / seen[ROWS]:.4f}  "
              f"accuracy {seen[CORRECT] / seen[ROWS]:.4f}  {seen[ROWS] / seconds:.0f} images/s  {seconds:.1f} s",
              flush=True)


def accuracy(trainer, test):
    seen = np.zeros(3)
    for batch in test:
        trainer.strategy.run(trainer.evaluate_step, *batch)
        seen += trainer.totals[0]
    return seen[CORRECT] / seen[ROWS]


def parse():
    def counted(limit):
        def count(text):
            if not text.isdecimal() or not 1 <= int(text) <= limit:
                raise argparse.ArgumentTypeError(f"{text}: must be a whole number from 1 to {limit}")
            return int(text)

        return count

    parser = argparse.ArgumentParser(description="Trains on Fashion-MNIST with several mirrored replicas.")
    parser.add_argument("--replicas", type=counted(256), help="replicas on this machine's CPU (default 2)", default=2)
    parser.add_argument("--epochs", type=counted(10000), default=10, help="times over the training images (default 10)")
    parser.add_argument("--batch", type=counted(1000000), default=128, help="images per step, over all replicas")
    parser.add_argument("--limit-steps", type=counted(1000000000), help="stop training after this number of steps")
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist",
                        help="folder of the four IDX files")
    return parser.parse_args()


def main():
    options = parse()
    images, labels = read_images(options.data, "train")
    with mdist.Strategy(devices=f"cpu*{options.replicas}") as strategy:
        print(f"{len(images)} images, {options.replicas} replicas, batches of {options.batch}")
        trainer = Trainer(strategy)
        train(trainer, create_input(strategy, images, labels, options.batch, SHUFFLE_SEED), len(images), options)
        correct = accuracy(trainer, create_input(strategy, *read_images(options.data, "t10k"), options.batch))
    weights = trainer.weights(0)
    for i in range(1, len(trainer.parameters)):
        if trainer.weights(i) != weights:
            sys.exit(f"fashion_mnist: replica {i} ended with other weights than replica 0")
    print(f"weights digest: {digest(weights):016x}")
    print(f"test accuracy: {correct:.4f}")


try:
    main()
except mdist.Error as error:
    sys.exit(f"fashion_mnist: {error}")
