# SPDX-License-Identifier: Apache-2.0
"""Checks and converts arguments of calls: names, numbers, handles, times."""
from __future__ import annotations

import ctypes
import operator
from ctypes import byref, c_void_p

from ._abi import CallOptions, FOREVER, ReduceOp, RunIo
from .errors import _kind


def _choice(kind, given, what, prefix=""):
    """A member of an IntEnum, which may be given as its name, without a prefix that all have: ReduceOp.SUM, "sum"."""
    names = ", ".join(f'"{one.name.removeprefix(prefix).lower()}"' for one in kind)
    if not isinstance(given, (str, int)):
        raise TypeError(f"{_kind(given)} is no {what}; there are {names}")
    try:
        return kind[prefix + given.upper().removeprefix(prefix)] if isinstance(given, str) else kind(given)
    except (KeyError, ValueError):
        raise ValueError(f"{given!r} is no {what}; there are {names}") from None


def _op(given):
    return _choice(ReduceOp, given, "operation")


def _op_or_operator(given):
    """The number of an operation, where an Operator may stand, too."""
    if isinstance(given, (str, int)):
        return _op(given)
    from .operators import Operator  # which imports this module

    return given._number if isinstance(given, Operator) else _op(given)


def _handle(thing, kind):
    """The handle of a Variable, a Strategy ..., and of nothing else."""
    if not isinstance(thing, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"{_kind(thing)} {thing!r:.60}, where {article} {kind.__name__} belongs")
    return thing._handle


def _name(text):
    if not isinstance(text, str):
        raise TypeError(f"{_kind(text)} {text!r:.60}, where a name (str) belongs")
    return text.encode()


def _count(number):
    """ctypes would take -1 for the largest number there is, and forget what lies beyond 64 bits."""
    try:
        whole = operator.index(number)
    except TypeError:
        raise TypeError(f"{_kind(number)} {number!r:.60}, where a whole number belongs") from None
    if not 0 <= whole < 2**64:
        raise ValueError(f"{whole} is {'below 0' if whole < 0 else 'too large'}")
    return whole


def _whole(number):
    """A whole number for C's int64, which ctypes would cut."""
    whole = operator.index(number)
    if not -2**63 <= whole < 2**63:
        raise ValueError(f"{whole} does not fit in 64 bits")
    return whole


def _function(given, form):
    if not callable(given):
        raise TypeError(f"{_kind(given)} {given!r:.60} is no function {form}; pass the function itself, without calling "
                        "it")
    return given


def _handles(owned):
    return (c_void_p * len(owned))(*(one._handle for one in owned))


def _options(timeout, group=None):
    if timeout is None and group is None:
        return None
    limit = 0 if timeout is None else max(1, _nanoseconds(timeout))
    return byref(CallOptions(ctypes.sizeof(CallOptions), 0, limit, 0, 0, 0, _group(group)))


def _run_io(arguments, results, result_count, timeout=None):
    """What goes into a run and comes out of it: `results` is an array for the handles, or None if they come later. The
    library reads it in the call; the caller keeps the arguments."""
    handles = _handles(arguments)
    io = RunIo(ctypes.sizeof(RunIo), 0, ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p)), len(arguments),
               ctypes.cast(results, ctypes.POINTER(ctypes.c_void_p)) if results is not None else None, result_count,
               0 if timeout is None else max(1, _nanoseconds(timeout)))
    io._handles = handles
    return byref(io)


def _group(group):
    if group is None:
        return None
    from .group import Group  # which imports this module

    return _handle(group, Group)


def _nanoseconds(timeout):
    if timeout is None or timeout == float("inf"):
        return FOREVER
    try:
        return min(FOREVER, _count(round(timeout * 1e9)))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{timeout!r:.60} is no time; it is a number of seconds, 0 or more") from None
