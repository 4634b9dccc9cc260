# SPDX-License-Identifier: Apache-2.0
"""Trains with mdist.torch.DistributedDataParallel, on as many replicas as the environment says, and prints the digest of the
weights. Replica 0 compares them with those of plain PyTorch on whole batches. `wrapper.py OPTION...`"""
import contextlib
import copy
import hashlib
import sys

import torch

import mdist
import mdist.torch

OPTIONS = sys.argv[1:]
STEPS, ROWS = 20, 4


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.extra = torch.nn.Conv2d(1, 4, 3), torch.nn.Linear(144, 144)
        self.never, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(144, 10)
        if "unused" not in OPTIONS:
            del self.never

    def forward(self, x, with_extra=True):
        x = torch.relu(self.first(x)).flatten(1)
        return self.last(self.extra(x) if with_extra else x)


def batch(step, replica):
    numbers = torch.Generator().manual_seed(1000 * step + replica)
    return torch.randn(ROWS, 1, 8, 8, generator=numbers), torch.randint(10, (ROWS,), generator=numbers)


def extra(step, replica):
    return "unused" not in OPTIONS or (step + replica) % 3 == 0


def clear(step, optimizer, model):
    """Gradients move, stay where they are, or lie in memory that the program has made."""
    if "moves" in OPTIONS and step % 3 == 2:
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
    else:
        optimizer.zero_grad(set_to_none="moves" not in OPTIONS or step % 3 == 0)


def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.01)


def waits(step):
    return "accumulate" in OPTIONS and step % 2 == 0


def train(replica):
    module = modules[replica.local_index]
    if "channels_last" in OPTIONS:
        module.to(memory_format=torch.channels_last)
    model = mdist.torch.DistributedDataParallel(module, replica, bucket_bytes=20000 if "buckets" in OPTIONS else 0,
                                                clip_norm=0.5 if "clip" in OPTIONS else 0,
                                                find_unused_parameters="unused" in OPTIONS)
    optimizer = optimizer_of(model)
    for step in range(STEPS):
        x, y = batch(step, replica.id)
        with model.no_sync() if waits(step) else contextlib.nullcontext():
            torch.nn.functional.cross_entropy(model(x, extra(step, replica.id)), y).backward()
        if not waits(step):
            optimizer.step()
            clear(step, optimizer, model)
    assert "unused" not in OPTIONS or module.never.weight.grad is None, "a parameter that nobody used has a gradient"
    digests[replica.local_index] = hashlib.sha256(
        b"".join(one.detach().contiguous().numpy().tobytes() for one in model.parameters())).hexdigest()
    if replica.id == 0:
        compare(module, replica.count)


def compare(module, replicas):
    plain = Net()
    plain.load_state_dict(initial)
    optimizer = optimizer_of(plain)
    for step in range(STEPS):
        loss = sum(torch.nn.functional.cross_entropy(plain(batch(step, one)[0], extra(step, one)), batch(step, one)[1])
                   for one in range(replicas)) / replicas
        loss.backward()
        if not waits(step):
            if "clip" in OPTIONS:
                torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
    difference = max((ours - theirs).abs().max().item() for ours, theirs in zip(module.parameters(), plain.parameters()))
    assert difference < 1e-5, f"weights differ from those of plain PyTorch by {difference}"


torch.set_num_threads(1)
torch.manual_seed(11)
initial = Net().state_dict()
with mdist.Strategy() as strategy:
    modules = [Net() for _ in range(strategy.local_replica_count)]  # equal weights come from replica 0
    if strategy.rank == 0:
        modules[0].load_state_dict(copy.deepcopy(initial))
    digests = [None] * len(modules)
    strategy.run(train)
for digest in digests:
    print("digest", digest, flush=True)
