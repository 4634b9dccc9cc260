# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: variables in files."""
from __future__ import annotations

import ctypes
import os
import typing
from ctypes import byref, c_uint64
from typing import Any, Iterable, Mapping

from ._abi import LATEST, RESTORE_PARTIAL, RestoreOptions, Status
from ._arguments import _count, _handle, _name, _nanoseconds, _options
from ._held import _Destroyable
from ._library import _lib
from .errors import Error, _call, _new, _text
from .iterators import Iterator
from .strategy import Strategy
from .variables import Variable


class Checkpoint(_Destroyable):
    """Variables in files that other libraries read, too (safetensors), and back.

    `variables` is a list, or a dict by their names in files. The newest `keep` files stay; with 0 all do. Texts are
    saved along: checkpoint["epoch"] = "3".
    """

    _destroy = _lib.mdist_checkpoint_destroy

    def __init__(self, strategy: Strategy, folder: str | os.PathLike[str],
                 variables: Iterable[Variable] | Mapping[str, Variable] = (), keep: int = 0) -> None:
        super().__init__(_new(_lib.mdist_checkpoint_create, _handle(strategy, Strategy), os.fsencode(folder),
                              _count(keep)))
        if isinstance(variables, Mapping):
            for name, variable in variables.items():
                self.add(variable, name)
        else:
            for variable in variables:
                self.add(variable)

    def add(self, variable: Variable, name: str | None = None) -> None:
        """Adds a variable, under `name` in files, or else under its own name."""
        _call(_lib.mdist_checkpoint_add, self._handle, name and _name(name), _handle(variable, Variable))

    def add_iterator(self, iterator: Iterator, name: str) -> None:
        """Adds an iterator: restore() lets it go on where it was at the save."""
        _call(_lib.mdist_checkpoint_add_iterator, self._handle, _name(name), _handle(iterator, Iterator))

    def clear(self, timeout: float | None = None) -> None:
        """Removes all checkpoints from the folder. All workers together."""
        _call(_lib.mdist_checkpoint_clear, self._handle, _options(timeout))

    def __setitem__(self, key: str, text: Any) -> None:
        _call(_lib.mdist_checkpoint_set_text, self._handle, _name(key), str(text).encode())

    def __getitem__(self, key: str) -> str:
        try:
            return _text(_lib.mdist_checkpoint_text, self._handle, _name(key))
        except Error as error:
            raise (KeyError(str(error)) if error.status == Status.NOT_FOUND else error) from None

    def keys(self) -> list[str]:
        """The keys of all texts, in their order. Iterating over a checkpoint gives them, too, and dict() all texts."""
        count = _lib.mdist_checkpoint_text_count(self._handle)
        return [_text(_lib.mdist_checkpoint_text_key, self._handle, index) for index in range(count)]

    def __iter__(self) -> typing.Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def __len__(self) -> int:
        return int(_lib.mdist_checkpoint_text_count(self._handle))

    def __bool__(self) -> bool:
        return True  # also without texts

    def get(self, key: str, default: str | None = None) -> str | None:
        """The text of `key`, or `default` if there is none."""
        try:
            return self[key]
        except KeyError:
            return default

    def save(self, number: int, timeout: float | None = None) -> None:
        """All workers together, outside of steps. It is on the disk when this returns."""
        _call(_lib.mdist_checkpoint_save, self._handle, _count(number), _options(timeout))

    def restore(self, number: int = LATEST, partial: bool = False, timeout: float | None = None) -> int | None:
        """The number of what was restored; None if that was to be the latest and there is none. `partial`: variables
        that the file lacks stay as they are, and what else is in it is passed over."""
        limit = 0 if timeout is None else max(1, _nanoseconds(timeout))
        options = RestoreOptions(ctypes.sizeof(RestoreOptions), RESTORE_PARTIAL if partial else 0, limit)
        restored = c_uint64()
        try:
            _call(_lib.mdist_checkpoint_restore, self._handle, _count(number), byref(restored), byref(options))
        except Error as error:
            if number == LATEST and error.reason == "no_checkpoint":
                return None
            raise
        return restored.value


def latest_checkpoint(folder: str | os.PathLike[str]) -> int | None:
    """The number of the checkpoint that was saved last; None if there is none."""
    number = c_uint64()
    try:
        _call(_lib.mdist_checkpoint_latest, os.fsencode(folder), byref(number))
    except Error as error:
        if error.reason == "no_checkpoint":
            return None
        raise
    return number.value
