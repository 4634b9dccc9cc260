# SPDX-License-Identifier: Apache-2.0
"""Trains with mdist.torch.DistributedDataParallel in an elastic job, and prints the digest of the weights. `elastic.py kill`:
in a backward pass worker 1 of the first generation kills itself; the others wait for the one in its place."""
import hashlib
import io
import os
import signal
import sys

import torch

import mdist
import mdist.torch

STEPS, EVERY, DEADLY = 12, 3, 7
KILLS = sys.argv[1:] == ["kill"]


class Model:
    """That of one replica, with what belongs to its training."""

    def __init__(self):
        torch.manual_seed(1)
        self.module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.05, momentum=0.9)
        self.wrapper = None  # made in the first step of a generation

    def packed(self):
        file = io.BytesIO()
        torch.save([self.module.state_dict(), self.optimizer.state_dict()], file)
        return file.getvalue()

    def unpack(self, data):
        state, optimizer = torch.load(io.BytesIO(data))
        self.module.load_state_dict(state)
        self.optimizer.load_state_dict(optimizer)


class Training:
    def __init__(self, strategy):
        self.strategy, self.at, self.generation = strategy, 0, 1
        self.models = [Model() for _ in range(strategy.replica_count)]  # by replica id
        mdist.Blob(strategy, "models", 65536, lambda i: self.models[i].packed(), lambda i, data: self.models[i].unpack(data))

    def step(self, replica):
        model = self.models[replica.id]
        if model.wrapper is None:
            model.wrapper = mdist.torch.DistributedDataParallel(model.module, replica)
        model.wrapper.replica = replica
        numbers = torch.Generator().manual_seed(100 * self.at + replica.id)
        x, y = torch.randn(5, 6, generator=numbers), torch.randint(3, (5,), generator=numbers)
        model.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model.wrapper(x), y)
        if KILLS and self.at == DEADLY and self.generation == 1 and self.strategy.rank == 1:
            model.module[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
        loss.backward()
        model.optimizer.step()

    def regroup(self):
        change = self.strategy.regroup()
        self.at, self.generation = change.step, change.generation
        for model in self.models:
            model.wrapper = None
        if change.worker_count < int(os.environ["MDIST_ELASTIC_MAX_WORKERS"]):
            while not self.changed():
                pass
            self.strategy.commit(self.at)
            self.regroup()

    def changed(self):
        return self.strategy.check_membership()[0] == mdist.Verdict.REGROUP

    def go_on(self):
        try:
            if self.at == STEPS:  # they have regrouped after the last step
                return self.changed()
            self.strategy.run(self.step)
            self.at += 1
            if self.at % EVERY:
                return False
            self.strategy.commit(self.at)
            return self.changed()
        except mdist.Error as error:
            self.error = error  # keeps what the step had, as a program may
            return True


torch.set_num_threads(1)
with mdist.Strategy() as strategy:
    training = Training(strategy)
    regroups = strategy.is_joining
    while regroups or training.at < STEPS:
        if regroups:
            training.regroup()
        regroups = training.go_on()
    own = training.models[strategy.first_replica_id].module
    if strategy.is_chief:
        print("digest", hashlib.sha256(b"".join(one.detach().numpy().tobytes() for one in own.parameters())).hexdigest())
    strategy.check_membership()  # all have read
