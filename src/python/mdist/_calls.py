# SPDX-License-Identifier: Apache-2.0
"""Functions of the program that the library calls during one call."""
from __future__ import annotations

from ._abi import FetchFn, ValueFn
from ._held import _keep, _kept
from ._tensors import _copied
from .errors import Error, _Failures, _call, _callback
from .values import _given


class _Calls:
    """A function that the library calls back, within one call of it."""

    def __init__(self, function):
        self.function, self.failures = function, _Failures()

    def within(self, function, *arguments, options=()):
        """Makes the call that calls back."""
        key = _keep(self)
        try:
            _call(function, *(key if one is _CALLS else one for one in arguments), *options)
        except Error as error:
            raise error from self.failures.cause(error)
        finally:
            del _kept[key]
            self.failures.clear()


_CALLS = object()  # stands where user_data belongs


class _Made(_Calls):
    """Calls that give one value: a fetch, or a value made replica by replica."""

    def call(self, out, *arguments):
        out[0] = _given(self.function(*arguments))


@_callback(FetchFn)
def _FETCH(source, out, key):
    made = _kept[key]
    return made.failures.guard(lambda: made.call(out, _copied(source[0])))


@_callback(ValueFn)
def _VALUE(replica_id, replica_count, out, key):
    made = _kept[key]
    return made.failures.guard(made.call, out, replica_id, replica_count)
