# SPDX-License-Identifier: Apache-2.0
"""Strategies and replicas by handle."""
from __future__ import annotations

import weakref
from typing import Any, MutableMapping

_strategies: MutableMapping[int, Any] = weakref.WeakValueDictionary()
_replicas: MutableMapping[int, Any] = weakref.WeakValueDictionary()
