# SPDX-License-Identifier: Apache-2.0
"""PyTorch over libmdist: a backend for torch.distributed, and a wrapper for modules.

    import mdist.torch  # not needed if the package was installed with pip
    torch.distributed.init_process_group("mdist")  # and everything else as with "gloo"

or, with the library's own promises (the same bits in every layout of replicas, on threads or processes):

    def train(replica):
        model = mdist.torch.DistributedDataParallel(make_model(), replica)
        ...
    strategy.run(train)

Needs PyTorch. `import mdist` does not import this module.
"""
from _mdist_for_torch import register as _register

from ._group import ProcessGroup
from ._parallel import DistributedDataParallel
from ._work import BackendError, Work

__all__ = ["BackendError", "DistributedDataParallel", "ProcessGroup", "Work"]

for _class in (BackendError, DistributedDataParallel, ProcessGroup, Work):
    _class.__module__ = __name__

_register()
