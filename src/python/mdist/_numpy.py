# SPDX-License-Identifier: Apache-2.0
"""NumPy, or None where it is not installed."""
from __future__ import annotations

from typing import Any

numpy: Any
try:
    import numpy
except ImportError:
    numpy = None
