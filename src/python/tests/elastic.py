# SPDX-License-Identifier: Apache-2.0
"""An elastic training, each worker of which is started with this program. Arguments:
- `undisturbed`. Prints the result in full.
- `kill STEP`: worker 1 of the first generation kills itself in that step. The others wait for the one in its place.
- `mistakes`, `failing_blob`, `interrupted_blob`: no training, but what must fail, with two workers."""
import os
import pickle
import random
import signal
import sys

import mdist
import numpy as np
from support import interrupt

STEPS, EVERY = 60, 10
deadly = int(sys.argv[2]) if sys.argv[1] == "kill" else -1


class Training:
    """What all workers create alike, newcomers too."""

    def __init__(self, strategy):
        self.strategy, self.at, self.generation = strategy, 0, 1
        self.weight = strategy.variable("weight", np.zeros(3, np.float32))
        self.seen = strategy.variable("seen", np.array(0), "on_read", "sum")
        self.gradients = mdist.Gradients(strategy, [self.weight])
        self.generators = {i: random.Random(i) for i in range(strategy.replica_count)}
        mdist.Blob(strategy, "random", 8192, lambda i: pickle.dumps(self.generators[i].getstate()), self.restore)
        numbers = mdist.Dataset.range(100).shuffle(100, seed=5).repeat().batch(8)
        self.rows = iter(strategy.distribute_dataset(numbers))
        self.looked_at = []  # arrays from before regroups

    def restore(self, replica_id, data):
        self.generators[replica_id].setstate(pickle.loads(data))

    def step(self, replica, rows):
        if self.at == deadly and self.generation == 1 and self.strategy.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        weight = self.weight.numpy(replica.local_index)
        gradient = self.gradients.numpy(replica.local_index, 0)
        noise = self.generators[replica.id].random()
        x = rows.astype(np.float32)[:, None] / 100 * np.array([1, 2, 3], np.float32)
        error = (x * weight).sum(1) - 3 * x[:, 0] - np.float32(noise) / 100
        gradient[...] = (error[:, None] * x).sum(0) / 8
        self.gradients.ready(replica, 0)
        self.gradients.wait(replica)
        weight -= np.float32(0.05) * gradient
        self.seen.numpy(replica.local_index)[...] += len(rows)

    def regroup(self):
        replicas = range(self.strategy.local_replica_count)
        self.looked_at += [self.weight.numpy(i) for i in replicas] + [self.gradients.numpy(i, 0) for i in replicas]
        change = self.strategy.regroup()
        self.at, self.generation = change.step, change.generation
        assert change.rank == self.strategy.rank and change.worker_count == self.strategy.worker_count
        for array in self.looked_at:
            array += 0  # has no meaning, but is memory
        found = self.strategy.values_from_function(lambda i, count: i)
        assert found.numpy(0) == change.first_replica_id == self.strategy.first_replica_id, change
        if change.worker_count < int(os.environ["MDIST_ELASTIC_MAX_WORKERS"]):
            while not self.changed():
                pass
            self.strategy.commit(self.at)
            self.regroup()

    def changed(self):
        return self.strategy.check_membership()[0] == mdist.Verdict.REGROUP

    def go_on(self):
        """One step, and now and then a commit. Whether to regroup."""
        try:
            if self.at == STEPS:  # they have regrouped after the last step
                return self.changed()
            (rows,) = next(self.rows)
            self.strategy.run(self.step, rows)
            self.at += 1
            if self.at % EVERY:
                return False
            self.strategy.commit(self.at)
            return self.changed()  # after the last step, all meet here
        except mdist.Error as error:
            assert error.status in (mdist.Status.PEER_LOST, mdist.Status.ABORTED, mdist.Status.TIMEOUT), repr(error)
            return True


def training():
    with mdist.Strategy() as strategy:
        training = Training(strategy)
        regroups = strategy.is_joining
        while regroups or training.at < STEPS:
            if regroups:
                training.regroup()
            regroups = training.go_on()
        mapped = strategy.map(5, lambda replica, element: np.array(element), results=1)
        training.weight.update(lambda local, copy: None)
        result = training.weight.read().numpy(0).tolist(), int(training.seen.read().numpy(0)), mapped.numpy(0).tolist()
        if strategy.is_chief:
            print(*result, flush=True)
        strategy.check_membership()  # all have read


def error_of(call, *arguments):
    try:
        call(*arguments)
    except mdist.Error as error:
        return error
    raise AssertionError(f"{call} has not failed")


def mistakes():
    with mdist.Strategy() as strategy:
        own, given, taken = strategy.rank, {"small": b"one"}, []
        mdist.Blob(strategy, "small", 5, lambda i: given["small"], lambda i, data: taken.append((i, data)))
        weight, group = strategy.variable("weight", np.zeros(1)), mdist.Group(strategy, [0])
        strategy.commit(3)
        weight.assign(np.ones(1))
        assert strategy.regroup() == (2, 3, own, 2, 2 * own, 2)
        assert taken == [(2 * own + i, b"one") for i in range(2)], taken
        assert weight.read().numpy(0).tolist() == [0]
        assert strategy.check_membership() == (mdist.Verdict.GO_ON, -1) and not strategy.is_joining
        if own == 0:  # member 0 is here
            error = error_of(strategy.run, lambda replica: replica.barrier(group=group) if replica.id == 0 else None)
        else:
            error = error_of(strategy.run, lambda replica: replica.barrier())
        assert "generation" in str(error), error
    print("done")


def failing_blob():
    """The function fails on worker 1. So the commit fails on both, and the job goes on."""
    with mdist.Strategy() as strategy:
        saved = {0: b"", 1: b"", 2: b""}
        mdist.Blob(strategy, "small", 5, lambda i: saved[i], lambda i, data: None)
        error = error_of(strategy.commit, 1)
        assert "of replica 3 returned" in str(error) or isinstance(error.__cause__, KeyError), error
        assert isinstance(error.__cause__, KeyError) == (strategy.rank == 1), error.__cause__
        saved[3] = b""
        strategy.commit(1)
    print("done")


def interrupted_blob():
    """Ctrl-C on worker 1, before the functions have begun. See test_interrupts.py."""
    with mdist.Strategy() as strategy:
        taken = []
        mdist.Blob(strategy, "small", 5, lambda i: b"one", lambda i, data: taken.append((i, data)))
        if strategy.rank == 0:
            assert "of replica 2 returned" in str(error_of(strategy.commit, 1))
            strategy.commit(1)
            assert strategy.regroup().worker_count == 1  # the other is out of the job
            assert taken[-4:] == [(i, b"one") for i in range(4)], taken
        else:
            assert interrupted("_SAVE", strategy.commit, 1)
            strategy.commit(1)
            assert interrupted("_RESTORE", strategy.regroup) and taken == []
    print("done")


def interrupted(name, call, *arguments):
    interrupt(name)
    try:
        call(*arguments)
    except KeyboardInterrupt:
        return sys.gettrace() is None
    return False


{"mistakes": mistakes, "failing_blob": failing_blob, "interrupted_blob": interrupted_blob}.get(sys.argv[1], training)()
