# SPDX-License-Identifier: Apache-2.0
"""Tells PyTorch about backend "mdist" of torch.distributed. PyTorch calls register() when it is imported, if the package
was installed with pip. The library is loaded later, with the first process group."""
from __future__ import annotations

from typing import Any


def _create(options: Any, chosen: Any = None) -> Any:
    from mdist.torch._group import create

    return create(options, chosen)


def register() -> None:
    """Registers backend "mdist", unless it is registered already."""
    import torch.distributed as dist

    if dist.is_available() and not hasattr(dist.Backend, "MDIST"):
        dist.Backend.register_backend("mdist", _create, extended_api=True, devices=["cpu"])
