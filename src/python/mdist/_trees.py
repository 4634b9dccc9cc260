# SPDX-License-Identifier: Apache-2.0
"""Nested dicts and lists of arrays, and the paths of their leaves."""
from __future__ import annotations

from ._dtypes import Dense, Typed


def _leaves(tree, path=""):
    """(path, leaf) for each leaf of nested dicts, lists and tuples; anything else is its own, at ""."""
    if isinstance(tree, dict):
        for name in tree:
            if not isinstance(name, str) or not name or "." in name or name.isdecimal():
                raise ValueError(f"{name!r} names a leaf of a structure; names are texts without dots, and no numbers")
        parts = tree.items()
    elif isinstance(tree, (list, tuple)) and not isinstance(tree, (Dense, Typed)):
        parts = enumerate(tree)
    else:
        yield path, tree
        return
    for name, part in parts:
        yield from _leaves(part, f"{path}.{name}" if path else str(name))


def _is_tree(thing):
    return isinstance(thing, (dict, list, tuple)) and not isinstance(thing, (Dense, Typed))


def _tree(leaves):
    """What _leaves took apart, of (path, leaf) in the library's order: positions become lists."""
    root = {}
    for path, leaf in leaves:
        if not path:
            return leaf
        *above, last = path.split(".")
        place = root
        for name in above:
            place = place.setdefault(name, {})
        place[last] = leaf
    return _with_lists(root)


def _with_lists(tree):
    if type(tree) is not dict:
        return tree
    parts = {name: _with_lists(part) for name, part in tree.items()}
    return list(parts.values()) if parts and next(iter(parts)).isdecimal() else parts
