# SPDX-License-Identifier: Apache-2.0
"""Types of arguments, for type checkers."""
from __future__ import annotations

from typing import Any, Sequence, Union

ArrayLike = Any  # a buffer, __dlpack__, __cuda_array_interface__, Typed; where it is only read: numbers and lists
Arrays = Union[ArrayLike, Sequence[ArrayLike]]  # one array, or a list of arrays
DtypeLike = Any  # mdist.Dtype.FLOAT32, "float32", numpy.float32

__all__ = ["ArrayLike", "Arrays", "DtypeLike"]
