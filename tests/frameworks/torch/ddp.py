# SPDX-License-Identifier: Apache-2.0
"""A training script as others write it: nothing in it knows libmdist. `ddp.py BACKEND` prints the weights' digest.

Options: unused (a layer that only some steps use), accumulate (two batches for each update), join (processes have
different numbers of batches), hook (gradients travel in 16 bits), bucket_view.
"""
import contextlib
import hashlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.extra = torch.nn.Conv2d(1, 4, 3), torch.nn.Linear(144, 144)
        self.norm, self.last = torch.nn.BatchNorm2d(4), torch.nn.Linear(144, 10)

    def forward(self, x, with_extra):
        x = torch.relu(self.norm(self.first(x))).flatten(1)
        return self.last(self.extra(x) if with_extra else x)


backend, options = sys.argv[1], sys.argv[2:]
torch.set_num_threads(1)
dist.init_process_group(backend)
torch.manual_seed(dist.get_rank())  # DDP copies the weights of rank 0
model = DistributedDataParallel(Net(), find_unused_parameters="unused" in options,
                                gradient_as_bucket_view="bucket_view" in options, bucket_cap_mb=0.05)
if "hook" in options:
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
numbers = torch.Generator().manual_seed(3)
data = TensorDataset(torch.randn(96, 1, 8, 8, generator=numbers), torch.randint(10, (96,), generator=numbers))
sampler = DistributedSampler(data, seed=7)
for epoch in range(3):
    sampler.set_epoch(epoch)
    batches = list(DataLoader(data, batch_size=8, sampler=sampler))
    if "join" in options:
        batches = batches[:len(batches) - dist.get_rank()]
    with model.join() if "join" in options else contextlib.nullcontext():
        for number, (x, y) in enumerate(batches):
            waits = "accumulate" in options and number % 2 == 0
            with model.no_sync() if waits else contextlib.nullcontext():
                with_extra = "unused" not in options or number % 3 == dist.get_rank() % 3
                torch.nn.functional.cross_entropy(model(x, with_extra), y).backward()
            if not waits:
                optimizer.step()
                optimizer.zero_grad()
losses = [None] * dist.get_world_size()
dist.all_gather_object(losses, hashlib.sha256(b"".join(one.detach().numpy().tobytes()
                                                       for one in model.parameters())).hexdigest())
assert len(set(losses)) == 1, "processes have different weights"
if dist.get_rank() == 0:
    print("digest", losses[0])
dist.destroy_process_group()
