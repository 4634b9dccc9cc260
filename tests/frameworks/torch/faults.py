# SPDX-License-Identifier: Apache-2.0
"""What the other processes see when one of two fails. `faults.py CASE MODEL` prints the error, and how long it took to come.
MODEL is ddp or wrapper."""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

import mdist.torch

case, kind = sys.argv[1:]
torch.set_num_threads(1)
dist.init_process_group("mdist")
rank = dist.get_rank()
module = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(8)))
wrap = torch.nn.parallel.DistributedDataParallel if kind == "ddp" else mdist.torch.DistributedDataParallel
model = wrap(module)
x = torch.ones(4, 64)
model(x).sum().backward()
store = dist.distributed_c10d._get_default_store()


def killed(gradient):
    store.set("began", str(time.time()))
    os.kill(os.getpid(), signal.SIGKILL)


began = time.time()
try:
    if case == "killed":  # in the middle of its backward pass
        if rank == 1:
            module[4].weight.register_hook(killed)
        model(x).sum().backward()
        dist.barrier()
    elif case == "order":  # one process makes two calls in another order
        first, second = torch.ones(3), torch.ones(5, dtype=torch.int64)
        for tensor in (first, second) if rank == 0 else (second, first):
            dist.all_reduce(tensor)
    elif case == "kind":  # a collective meets the reduction of gradients
        if rank == 0:
            model(x).sum().backward()
        else:
            dist.broadcast(torch.ones(7), 0)
    elif case == "raised":  # an exception in the backward pass, after which the process ends
        if rank == 1:
            module[4].weight.register_hook(lambda _: 1 / 0)
        model(x).sum().backward()
except (RuntimeError, mdist.Error, ZeroDivisionError) as error:
    if case == "raised" and rank == 1:
        raise
    if case == "killed":
        began = float(store.get("began"))
    print(f"{time.time() - began:.3f} s: rank {rank}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
    os._exit(0)
print("nothing failed", flush=True)
