# SPDX-License-Identifier: Apache-2.0
"""The library that is running."""
from __future__ import annotations

from ._arguments import _name
from ._library import _lib


def version() -> int:
    """Of the library that is running: 10000 * major + 100 * minor + patch."""
    return _lib.mdist_version()


def has(feature: str) -> bool:
    """Whether this build on this host can do "cuda", "shm", "avx2" ..."""
    return bool(_lib.mdist_has(_name(feature)))
