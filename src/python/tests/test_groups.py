# SPDX-License-Identifier: Apache-2.0
"""Groups of replicas."""
import mdist
import numpy as np
from support import WithStrategy, floats


class Groups(WithStrategy):
    replicas = 4

    def test_members_take_part_in_the_order_of_the_list(self):
        pairs = [mdist.Group(self.strategy, ids) for ids in ([2, 0], [1, 3])]

        def step(replica):
            group = pairs[replica.id % 2]
            both = np.empty(2, np.float32)
            replica.all_gather(floats(replica.id), both, group=group)
            total = replica.all_reduce("sum", [replica.id], group=group)
            work = replica.barrier_start(group=group)
            assert work.wait()
            replica.barrier()
            return np.array([*both, *total], np.float32)

        found = self.strategy.run(step, results=1)
        self.assertEqual([found.numpy(i).tolist() for i in range(4)], [[2, 0, 2], [1, 3, 4]] * 2)

    def test_it_knows_its_members(self):
        group = mdist.Group(self.strategy, [3, 1])
        self.assertEqual((len(group), [group.position(i) for i in range(4)]), (2, [-1, 1, -1, 0]))
        group.destroy()
        self.assertEqual(len(group), 0)

    def test_mistakes_are_sentences(self):
        for ids in [], [0, 0], [4]:
            with self.assertRaises(mdist.Error) as caught:
                mdist.Group(self.strategy, ids)
            self.assertEqual(caught.exception.status, mdist.Status.INVALID_ARGUMENT)
        with self.assertRaisesRegex(ValueError, "-1 is below 0"):
            mdist.Group(self.strategy, [-1])
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.barrier(group=[0, 1]))
        self.assertRegex(str(caught.exception.__cause__), "where a Group belongs")
        group = mdist.Group(self.strategy, [0, 1])
        with self.assertRaises(mdist.Error) as caught:
            self.strategy.run(lambda replica: replica.barrier(group=group))
        self.assertIn("group {0, 1}", str(caught.exception))
        self.assert_usable()
