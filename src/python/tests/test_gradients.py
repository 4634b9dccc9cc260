# SPDX-License-Identifier: Apache-2.0
"""Gradients. The training is that of tests/ffi/gradients.c, and ends in the same bits."""
import os
import struct
import subprocess
import threading

import mdist
import numpy as np
from support import WithStrategy, gone, watched

POINTS, ROUNDS, STEPS, WEIGHTS = 4, 2, 25, 5


def point_input(id, round, point, weight):
    number = float((id * ROUNDS + round) * POINTS + point)
    return (number - 11.5) / 8 + float((weight * 7 + point * 3) % 5) * 0.25


def compute(replica, gradients, parameters, round):
    wrong = []
    for i in range(POINTS):
        found, wanted = parameters[WEIGHTS], 3.0
        for j in range(WEIGHTS):
            x = point_input(replica.id, round, i, j)
            found += parameters[j] * x
            wanted += (0.5 - 0.125 * j) * x
        wrong.append(found - wanted)
    gradients.numpy(replica.local_index, 1)[...] = sequential(one / POINTS for one in wrong)
    gradients.ready(replica, 1)
    a = gradients.numpy(replica.local_index, 0)
    for j in range(WEIGHTS):
        a[j] = sequential(one * point_input(replica.id, round, i, j) / POINTS for i, one in enumerate(wrong))
    gradients.ready(replica, 0)


def sequential(numbers):
    """A sum from left to right; from Python 3.12 on sum() is more exact."""
    total = 0.0
    for one in numbers:
        total += one
    return total


def bits(name, number):
    return f"{name} {struct.unpack('<Q', struct.pack('<d', number))[0]:016x}\n"


class Training(WithStrategy):
    def test_training_with_gradients_ends_in_the_bits_of_the_c_program(self):
        expected = subprocess.run([os.environ["FFI_GRADIENTS"]], check=True, capture_output=True, text=True).stdout
        gradients = mdist.Gradients(self.strategy, [("float64", (WEIGHTS,)), ("float64", ())], op="mean",
                                    bucket_bytes=8, clip_norm=1)
        parameters = [[0.0] * (WEIGHTS + 1) for _ in range(2)]
        norms = [0.0] * 2

        def step(replica):
            own = parameters[replica.id]
            for round in range(ROUNDS):
                if round + 1 < ROUNDS:
                    gradients.accumulate(replica)
                compute(replica, gradients, own, round)
                norms[replica.id], finite = gradients.wait(replica)
                assert finite
            a, b = (gradients.numpy(replica.local_index, index) for index in range(2))
            for j in range(WEIGHTS):
                own[j] -= 0.25 * float(a[j])
            own[WEIGHTS] -= 0.25 * float(b)

        output = ""
        for _ in range(STEPS):
            self.strategy.run(step)
            output += bits("norm", norms[0])
            self.assertEqual(len(set(norms)), 1)
        output += "".join(bits("parameter", one) for one in parameters[0])
        self.assertEqual(output, expected)
        self.assertEqual(parameters[1], parameters[0])


class Asking(WithStrategy):
    def test_a_round_ends_by_asking_in_a_loop(self):
        gradients = mdist.Gradients(self.strategy, [("float32", (3,))])
        asked = threading.Event()

        def step(replica):
            if replica.id == 1:
                asked.wait()
            gradients.numpy(replica.local_index, 0)[...] = 1
            gradients.ready(replica, 0)
            if replica.id == 0:
                early = gradients.test(replica)
                asked.set()
                assert early is None
            while (reduced := gradients.test(replica)) is None:
                pass
            return np.array([reduced.norm, reduced.finite])

        found = self.strategy.run(step, results=1)
        for i in range(2):
            self.assertEqual(found.numpy(i).tolist(), [12 ** 0.5, 1])
            self.assertEqual(gradients.numpy(i, 0).tolist(), [2] * 3)


class Refusals(WithStrategy):
    def half(self, gradients):
        def step(replica):
            gradients.numpy(replica.local_index, 0)[1] = 1
            gradients.ready(replica, 0)
            return np.float64(gradients.wait(replica).norm)

        return self.strategy.run(step, results=1)

    def model(self):
        return [self.strategy.variable(name, initial) for name, initial in
                (("weights", np.zeros(2, np.float32)), ("bias", np.float32(0)))]

    def test_a_missing_gradient_is_named_or_counts_as_zeros(self):
        model = self.model()
        gradients = mdist.Gradients(self.strategy, model)
        self.assertEqual(len(gradients), 2)
        with self.assertRaisesRegex(mdist.Error, "bias") as caught:
            self.half(gradients)
        self.assertEqual(caught.exception.reason, "gradients_missing")
        gradients = mdist.Gradients(self.strategy, model, zero_missing=True)
        gradients.numpy(1, 1)[...] = 5
        self.assertEqual(self.half(gradients).numpy(0), 2)
        self.assertEqual([gradients.numpy(1, 0).tolist(), gradients.numpy(1, 1)], [[0, 2], 0])
        self.assert_usable()

    def test_without_a_norm_it_is_zero(self):
        gradients = mdist.Gradients(self.strategy, self.model(), zero_missing=True, norm=False)
        self.assertEqual(self.half(gradients).numpy(1), 0)

    def test_ready_twice_is_refused(self):
        gradients = mdist.Gradients(self.strategy, [np.zeros(2)])

        def step(replica):
            gradients.ready(replica, 0)
            gradients.ready(replica, 0)

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(step)
        self.assertEqual(caught.exception.reason, "ready_twice")
        self.assert_usable()

    def test_what_is_not_finite_is_told_on_every_replica(self):
        gradients = mdist.Gradients(self.strategy, [("float32", (2,))], zero_nonfinite=True)

        def step(replica):
            own = gradients.numpy(replica.local_index, 0)
            own[...] = np.inf if replica.id == 0 else 1
            gradients.ready(replica, 0)
            norm, finite = gradients.wait(replica)
            return np.array([np.isfinite(norm), finite, own.any()], np.int32)

        found = self.strategy.run(step, results=1)
        self.assertEqual([found.numpy(i).tolist() for i in range(2)], [[0, 0, 0]] * 2)

    def test_mistakes_are_sentences(self):
        with self.assertRaisesRegex(TypeError, "as a list of variables"):
            mdist.Gradients(self.strategy, self.strategy.variable("w", 1.0))
        with self.assertRaisesRegex(ValueError, '\'smu\' is no operation; there are "sum"'):
            mdist.Gradients(self.strategy, [np.zeros(2)], op="smu")
        with self.assertRaisesRegex(mdist.Error, "int32"):
            mdist.Gradients(self.strategy, [np.zeros(2, np.int32)])
        with self.assertRaisesRegex(TypeError, "where a Replica belongs"):
            mdist.Gradients(self.strategy, [np.zeros(2)]).wait(self.strategy)
        with self.assertRaises(mdist.Error):
            mdist.Gradients(self.strategy, [np.zeros(2)]).numpy(0, 1)

    def test_an_array_keeps_its_memory(self):
        gradients = mdist.Gradients(self.strategy, [np.zeros(3)])
        array = gradients.numpy(0, 0)
        held, reference = watched(gradients)
        del gradients, held
        array[...] = 7
        self.assertFalse(gone(reference))
        self.assertEqual(array.tolist(), [7, 7, 7])
        del array
        self.assertTrue(gone(reference))

    def test_gradients_in_arrays_of_the_program(self):
        arrays = [[np.full(3, i + 1, np.float32), np.full((), 2, np.float32)] for i in range(2)]
        gradients = mdist.Gradients.lent(self.strategy, arrays, clip_norm=0)
        moved = [np.full(3, 10, np.float32) for _ in range(2)]

        def step(replica):
            for index in 1, 0:
                gradients.ready(replica, index)
            assert gradients.wait(replica).finite
            gradients.ready(replica, 0, moved[replica.id])
            gradients.ready(replica, 1)
            gradients.wait(replica)

        self.strategy.run(step)
        self.assertEqual([one[0].tolist() for one in arrays], [[3] * 3] * 2)
        self.assertEqual([one[1].item() for one in arrays], [8, 8])
        self.assertEqual([one.tolist() for one in moved], [[20] * 3] * 2)
        again = [np.ones(3, np.float32), np.ones((), np.float32)]
        gradients.lend(0, again)
        with self.assertRaisesRegex(ValueError, "lists of 1 arrays for 2 local replicas"):
            mdist.Gradients.lent(self.strategy, [[moved[0]]])
        with self.assertRaisesRegex(ValueError, "read-only"):
            gradients.lend(0, [np.broadcast_to(np.float32(1), 3), again[1]])
