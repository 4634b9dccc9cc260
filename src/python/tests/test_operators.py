# SPDX-License-Identifier: Apache-2.0
"""Reductions of the program's own."""
import functools
import weakref

import mdist
import numpy as np
from support import WithStrategy, gone


def affine(left, right, out):
    """The composition of functions a * x + b: associative, not commutative."""
    out[:, 0] = left[:, 0] * right[:, 0]
    out[:, 1] = left[:, 1] * right[:, 0] + right[:, 1]


def composed(pairs):
    return functools.reduce(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), pairs)


class Operators(WithStrategy):
    replicas = 5

    def pair(self, i):
        return [i + 2, 3 * i + 1]

    def test_it_is_applied_in_the_order_of_replicas(self):
        operator = mdist.Operator("affine", "2i8", affine)

        def step(replica):
            own = np.tile(np.array(self.pair(replica.id)), (7, 1))
            started = np.array(own)
            work = replica.all_reduce_start(operator, started)
            root = np.array(own)
            replica.reduce_to_root(operator, 3, root)
            part = np.empty(2, np.int64)
            replica.reduce_scatter(operator, own[:5].copy(), part)
            total = replica.all_reduce(operator, own)
            assert work.wait() and (started == total).all() and (replica.id != 3 or (root == total).all())
            return np.concatenate([total, [part]])

        found = self.strategy.run(step, results=1)
        expected = [[*composed(map(self.pair, range(5)))]] * 8
        for i in range(5):
            self.assertEqual(found.numpy(i).tolist(), expected)

    def test_outside_of_steps_and_bytes_as_elements(self):
        def larger(left, right, out):
            self.assertEqual((left.shape, left.dtype, right.flags.writeable), ((2, 4), np.uint8, False))
            out[...] = np.where(left[:, :1] >= right[:, :1], left, right)

        rows = [np.array([[i, 9, 9, i], [7 - i, 0, 0, i]], np.uint8) for i in range(5)]
        self.strategy.all_reduce(mdist.Operator("larger", 4, larger), rows)
        self.assertEqual([row.tolist() for row in rows], [[[4, 9, 9, 4], [7, 0, 0, 0]]] * 5)

    def test_structured_elements(self):
        dtype = np.dtype([("key", "f8"), ("who", "i4"), ("pad", "i4")])

        def largest(left, right, out):
            out[...] = np.where(left["key"] >= right["key"], left, right)

        operator = mdist.Operator("largest", dtype, largest)

        def step(replica):
            x = np.array([((replica.id * 3) % 5, replica.id, 0)], dtype)
            replica.all_reduce(operator, x.view(np.uint8))
            return x["who"]

        self.assertEqual(self.strategy.run(step, results=1).numpy(4).tolist(), [3])

    def test_an_exception_fails_the_call_in_its_words(self):
        def bad(left, right, out):
            raise LookupError("no such pair")

        operator = mdist.Operator("bad", 8, bad)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_reduce(operator, np.zeros(1)))
        self.assertEqual(str(caught.exception), 'operator "bad" raised LookupError: no such pair (CALLBACK)')
        failed = caught.exception.__cause__  # of all_reduce, in the step
        self.assertEqual((failed.operation, repr(failed.__cause__)),
                         ("mdist_all_reduce", "LookupError('no such pair')"))
        self.assert_usable()

    def test_an_array_kept_by_the_function_is_told(self):
        kept = []
        for which in range(3):
            operator = mdist.Operator("keeping", 8, lambda *arrays: kept.append(arrays[which][:1]))
            with self.assertRaises(mdist.Error) as caught:
                self.strategy.run(lambda replica: replica.all_reduce(operator, np.zeros(1)))
            kept.clear()
            self.assertRegex(str(caught.exception), "the operator's function kept an array")
        self.assert_usable()

    def test_it_goes_when_nobody_has_it_but_not_below_a_work(self):
        def add(left, right, out):
            out.view(np.int64)[...] = left.view(np.int64) + right.view(np.int64)

        reference = weakref.ref(add)
        operator = mdist.Operator("add", 8, add)
        del add

        def step(replica):
            x = np.full(3, replica.id)
            work = replica.all_reduce_start(operators[replica.id], x)
            operators[replica.id] = None
            assert work.wait()
            return x

        operators = [operator] * 5
        del operator
        self.assertEqual(self.strategy.run(step, results=1).numpy(2).tolist(), [10] * 3)
        self.assertTrue(gone(reference))

    def test_mistakes_are_sentences(self):
        with self.assertRaisesRegex(TypeError, "is no function"):
            mdist.Operator("x", 8, None)
        with self.assertRaisesRegex(TypeError, "objects of Python"):
            mdist.Operator("x", object, affine)
        for name, element in (("", 8), ("x", 0)):
            with self.assertRaises(mdist.Error) as caught:
                mdist.Operator(name, element, affine)
            self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)
        operator = mdist.Operator("long", 16, affine)
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.all_reduce(operator, np.zeros(3)))
        self.assertIn("16 bytes each", str(caught.exception))
