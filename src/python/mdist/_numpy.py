# SPDX-License-Identifier: Apache-2.0
"""NumPy, or None where it is not installed."""
from __future__ import annotations

import contextlib
import importlib
from typing import Any

numpy: Any = None
with contextlib.suppress(ImportError):
    numpy = importlib.import_module("numpy")
