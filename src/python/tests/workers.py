# SPDX-License-Identifier: Apache-2.0
"""What two workers do together, each of them started with this program; with the argument in_graph, one leads the other."""
import os
import sys

import mdist
import numpy as np

mdist.log_set_level(mdist.LogLevel.OFF)


def affine(left, right, out):
    out[:, 0] = left[:, 0] * right[:, 0]
    out[:, 1] = left[:, 1] * right[:, 0] + right[:, 1]


def together(strategy):
    """Operators, groups, parts, prepared calls, messages and functions for the end of works."""
    operator = mdist.Operator("affine", "2i8", affine)
    crossed = mdist.Group(strategy, [3, 0])  # of both workers
    arrays = [np.array([i + strategy.rank * 2]) for i in range(2)]
    calls = [strategy.prepare(i).all_reduce("sum", arrays[i]) for i in range(2)]
    called = []

    def step(replica):
        own = np.array([[replica.id + 2, 3 * replica.id + 1]])
        replica.all_reduce(operator, own)
        assert own.tolist() == [[120, 185]], own  # (2, 1), (3, 4), (4, 7), (5, 10), one after another
        if crossed.position(replica.id) >= 0:
            assert replica.all_gather([replica.id], np.empty(2, np.int64), group=crossed).tolist() == [3, 0]
        taken = np.empty(4 * replica.id, np.int64)
        replica.all_to_all_parts(np.full(6, replica.id), range(4), taken, [replica.id] * 4)
        assert taken.tolist() == [i for i in range(4) for _ in range(replica.id)], taken
        assert calls[replica.local_index].run(replica).tolist() == [6]
        sending = replica.send_start((replica.id + 1) % 4, 9, np.full(2000, replica.id))
        assert (replica.receive((replica.id + 3) % 4, 9, np.empty(2000, int)) == (replica.id + 3) % 4).all()
        assert sending.wait()
        work = replica.all_reduce_start("xor", np.array([1 << replica.id], np.int16))
        work.on_done(lambda status: called.append((replica.local_index, status)))
        assert work.wait()

    strategy.run(step)
    assert sorted(called) == [(0, mdist.Status.OK), (1, mdist.Status.OK)], called


def in_graph():
    with mdist.Strategy() as strategy:
        def train(replica, x):
            variable = strategy.find_variable("w")
            return x + variable.numpy(replica.local_index) + replica.id

        def subtract(local_replica, copy, x):
            copy -= x

        strategy.register_step("train", train, arguments=1, results=1)
        strategy.register_step("fail", lambda replica: {}["nothing"] if replica.id == 2 else None)
        strategy.register_update("subtract", subtract)
        if strategy.rank != 0:
            try:
                strategy.serve()
            except mdist.Error as error:
                assert isinstance(error.__cause__, KeyError), repr(error.__cause__)
                print("failed:", repr(error.__cause__))
            return
        variable = strategy.variable("w", np.array([10.0, 20.0]))
        strategy.update_named(variable, "subtract", np.array([1.0, 2.0]))
        found = strategy.run_named("train", np.array([0.5, 0.5]), results=1)
        assert [found.numpy(i).tolist() for i in range(4)] == [[9.5 + i, 18.5 + i] for i in range(4)]
        try:
            strategy.run_named("fail")
        except mdist.Error as error:
            assert "KeyError: 'nothing'" in str(error) and error.replica == 2, error
            print("client:", error.status.name)


def own_keys():
    """A strategy made with a key of the program's own, which joins the job."""
    strategy = mdist.Strategy({"communication.timeout": "100s"})
    assert (strategy.worker_count, strategy.replica_count) == (2, 4), strategy.worker_count
    assert strategy.rank == int(os.environ["MDIST_RANK"]), strategy.rank
    return strategy


if sys.argv[1:] == ["in_graph"]:
    in_graph()
else:
    with own_keys() as strategy:
        together(strategy)
        print("done")
