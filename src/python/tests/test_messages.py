# SPDX-License-Identifier: Apache-2.0
"""Messages between replicas."""
import mdist
import numpy as np
from support import WithStrategy, floats


class Messages(WithStrategy):
    replicas = 3

    def test_a_ring_of_large_messages_and_small_ones_by_tag(self):
        def step(replica):
            right, left = (replica.id + 1) % 3, (replica.id + 2) % 3
            work = replica.send_start(right, 7, np.full(5000, replica.id))
            taken = replica.receive(left, 7, np.empty(5000, int))
            assert work.wait() and (taken == left).all()
            for tag in 1, 2:
                replica.send(left, tag, [10 * replica.id + tag])
            later = np.empty(1, int)
            receiving = replica.receive_start(right, 2, later)
            first = replica.receive(right, 1, np.empty((2, 2), int)[:1, 0])  # not dense: copied back
            assert receiving.wait()
            return np.array([*first, *later])

        found = self.strategy.run(step, results=1)
        self.assertEqual([found.numpy(i).tolist() for i in range(3)], [[11, 12], [21, 22], [1, 2]])

    def test_sides_that_differ_and_a_sender_that_never_comes(self):
        def differ(replica):
            if replica.id == 0:
                replica.send(1, 5, floats(1, 2))
            if replica.id == 1:
                replica.receive(0, 5, floats(0))

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(differ)
        self.assertEqual(caught.exception.status, mdist.Status.MISMATCH)
        self.assert_usable()

        def alone(replica):
            if replica.id == 1:
                replica.receive(0, 5, floats(0), timeout=0.01)

        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(alone)
        self.assertIn("tag 5", str(caught.exception))

    def test_mistakes_are_sentences(self):
        for wrong in (lambda replica: replica.send(-1, 0, floats(1)), lambda replica: replica.send(0, -1, floats(1))):
            with self.assertRaises(mdist.Error) as caught:
                self.strategy.run(wrong)
            self.assertIn("-1 is below 0", str(caught.exception.__cause__))
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.send(3, 0, floats(1)))
        self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)
