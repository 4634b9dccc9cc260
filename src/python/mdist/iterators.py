# SPDX-License-Identifier: Apache-2.0
"""Iterators of datasets."""
from __future__ import annotations

import atexit
import weakref
from ctypes import byref, c_int32, c_uint64, c_void_p
from typing import Any

from ._abi import Status
from ._arguments import _name
from ._held import _Destroyable
from ._library import _lib
from .errors import Error, _call, _itself_or_interrupt, _text
from .values import Value


class Iterator(_Destroyable):
    """Elements of a dataset. The values stay when it moves on."""

    _destroy = _lib.mdist_iterator_destroy
    _cause: BaseException | None = None  # of the error that it gives for ever
    _count: int  # arrays of an element
    _replicas: int  # of the job, if its dataset is distributed
    _maps: list[Any]

    def close(self) -> None:
        """Ends the iteration and waits for the map function under way, if any: its memory is out of use then."""
        _call(_lib.mdist_iterator_close, self._handle)

    def row_counts(self) -> list[int]:
        """How many rows each replica of the job, by id, got in the last element of a distributed dataset: the
        denominators of means if steps are not even. Error, status FAILED_PRECONDITION, before the first element, and
        for a dataset that is not distributed."""
        count = max(1, self._replicas)
        rows = (c_uint64 * count)()
        _call(_lib.mdist_iterator_row_counts, self._handle, rows, count)
        return list(rows)

    def skipped(self) -> int:
        """How many corrupt records its sources have left out so far; see Dataset.text_lines."""
        number = c_uint64()
        _call(_lib.mdist_iterator_skipped, self._handle, byref(number))
        return number.value

    def save(self) -> str:
        """Where the iteration is, as a text for restore() on an iterator of the same dataset."""
        return _text(_lib.mdist_iterator_save, self._handle)

    def restore(self, text: str) -> None:
        """Goes on where another iterator of the same dataset was when it gave the text."""
        _call(_lib.mdist_iterator_restore, self._handle, _name(text))

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> tuple[Value, ...]:
        out = (c_void_p * self._count)()
        try:
            status = _call(_lib.mdist_iterator_next, self._handle, out, self._count)
        except Error as error:
            for mapping in self._maps:
                # Kept here and no longer there: its traceback leads to this iterator, and past the library to itself.
                self._cause = self._cause or mapping.failures.pop(error.native, None)
            error.__cause__ = self._cause or error.__cause__
            raise _itself_or_interrupt(error)
        if status == Status.END:
            raise StopIteration
        return tuple(Value._of(handle) for handle in out)


_iterators: weakref.WeakSet[Iterator] = weakref.WeakSet()


@atexit.register
def _settle():
    """A thread that calls into an interpreter that has gone is ended by it, with the process: let all finish before, in
    10 s at most."""
    for iterator in list(_iterators):
        iterator.destroy()
    _lib.mdist_iterators_wait(10 * 10**9, byref(c_int32()), None)
