# SPDX-License-Identifier: Apache-2.0
"""Functions of the program that the library calls during one call."""
from __future__ import annotations

from ._abi import FetchFn, ValueFn
from ._held import _keep, _kept
from ._tensors import _copied
from .errors import Error, _Failures, _call
from .values import _given


class _Calls:
    """A function that the library calls back, within one call of it."""

    def __init__(self, function):
        self.function, self.failures, self.begun = function, _Failures(), 0

    def within(self, due, function, *arguments, options=()):
        """Makes the call that calls back, `due` times if all goes well; see _Failures.lost."""
        key = _keep(self)
        try:
            _call(function, *(key if one is _CALLS else one for one in arguments), *options)
            if self.begun < due:
                raise KeyboardInterrupt
        except Error as error:
            if self.failures.lost(error):
                raise KeyboardInterrupt from error
            raise error from self.failures.cause(error)
        finally:
            del _kept[key]
            self.failures.clear()


_CALLS = object()  # stands where user_data belongs


class _Made(_Calls):
    """Calls that give one value: a fetch, or a value made replica by replica."""

    def call(self, out, *arguments):
        self.begun += 1
        out[0] = _given(self.function(*arguments))


@FetchFn
def _FETCH(source, out, key):
    made = _kept[key]
    return made.failures.guard(lambda: made.call(out, _copied(source[0])))


@ValueFn
def _VALUE(replica_id, replica_count, out, key):
    made = _kept[key]
    return made.failures.guard(made.call, out, replica_id, replica_count)
