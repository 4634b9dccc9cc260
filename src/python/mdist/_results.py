# SPDX-License-Identifier: Apache-2.0
"""Results of functions that the library calls."""
from __future__ import annotations

from ._trees import _is_tree


def _unlisted(results):
    """Nothing, the only one, or all."""
    return None if not results else results[0] if len(results) == 1 else results


def _checked(returned, count):
    """What a function returned, as a list of `count` results."""
    if returned is None:
        return [None] * count
    found = [returned] if count == 1 or not _is_tree(returned) or isinstance(returned, dict) else returned
    if len(found) != count:
        raise TypeError(f"returned {len(found)} result{'' if len(found) == 1 else 's'}, but the call has "
                        f"results={count}; pass results={len(found)}, or return None")
    return found
