# SPDX-License-Identifier: Apache-2.0
"""Errors of the library, and exceptions of functions that the library calls."""
from __future__ import annotations

import ctypes
import itertools
import re
import sys
import threading
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from ._abi import NONE, Status
from ._library import _lib


def _or_none(number):
    """The number of a replica or worker, or -1 for NONE."""
    return -1 if number == NONE else number


class Error(Exception):
    """A call that failed. str() is the library's sentence; `reason` is a stable word for programs, often ""."""

    def __init__(self, message: str, status: Status = Status.INTERNAL, reason: str = '', operation: str = '',
                 replica: int = -1, native: int = 0, rank: int = -1) -> None:
        super().__init__(message, status, reason, operation, replica, native, rank)
        self.status = status  # a Status
        self.reason = reason
        self.operation = operation  # the C function that failed
        self.replica = replica  # id of the one at fault, or -1
        self.rank = rank  # its rank, likewise
        self.native = native  # the number underneath: errno and the like

    def __str__(self) -> str:
        text = self.args[0]
        if self.status == Status.CALLBACK and self.__cause__ is not None:
            said = f"returned {self.native}: "
            cause = "" if said in text else f"{type(self.__cause__).__name__}: {self.__cause__}"
            text = text.replace(said if said in text else said[:-2], f"raised {cause}")
        return f"{text} ({self.status.name})"

    @classmethod
    def _take(cls, handle):
        try:
            error = cls(_lib.mdist_error_message(handle).decode(), Status(_lib.mdist_error_status(handle)),
                        _lib.mdist_error_reason(handle).decode(), _lib.mdist_error_operation(handle).decode(),
                        _or_none(_lib.mdist_error_replica(handle)), _lib.mdist_error_native(handle),
                        _or_none(_lib.mdist_error_rank(handle)))
            if error.status == Status.CALLBACK:
                error.__cause__ = _common_failures.get(error.native)
            return error
        finally:
            _lib.mdist_error_free(handle)


def _call(function, *arguments):
    """Any function that ends in `error`: its status, or Error."""
    error = c_void_p()
    if type(sys.unraisablehook) is not _Hook:
        sys.unraisablehook = _Hook(sys.unraisablehook)
    try:
        status = function(*arguments, byref(error))
    except ctypes.ArgumentError as refused:
        raise _refusal(function, arguments, refused) from None
    if _late and _is_main_thread():
        _raise_late(Error._take(error) if status < 0 else None)
    if status < 0:
        raise _itself_or_interrupt(Error._take(error))
    return status


def _is_main_thread():
    return threading.get_ident() == threading.main_thread().ident


def _raise_late(failure):
    interrupt = _late[0]
    _late.clear()
    try:
        raise interrupt from failure
    finally:
        del interrupt, failure  # whose tracebacks lead here


def _itself_or_interrupt(error):
    return error.__cause__ if _interrupts(error.__cause__) else error


def _interrupts(exception):
    """Whether it goes through as itself: KeyboardInterrupt and its like."""
    return exception is not None and not isinstance(exception, Exception)


_SORTS = {c_int32: "a whole number", c_uint32: "a whole number", c_int64: "a whole number", c_uint64: "a whole number",
          c_size_t: "a whole number", c_double: "a number", c_char_p: "a text"}


def _refusal(function, arguments, refused):
    """What ctypes has against the arguments, in words of this module."""
    found = re.match(r"argument (\d+)", str(refused))
    if found is None:
        return TypeError(f"{function.__name__}: {refused}")
    index = int(found.group(1)) - 1
    given, wanted = arguments[index], function.argtypes[index]
    return TypeError(f"{function.__name__.removeprefix('mdist_')}: {_kind(given)} {given!r:.60}, where "
                     f"{_SORTS.get(wanted, 'an object of this module')} belongs")


def _kind(thing):
    return type(thing).__name__


def _new(function, *arguments, options=()):
    """Any function that ends in `out, [options,] error`: the new handle."""
    out = c_void_p()
    _call(function, *arguments, byref(out), *options)
    return out.value


def _text(function, *arguments):
    """Any function that ends in `text, capacity, needed, error`."""
    needed = c_size_t()
    _call(function, *arguments, None, 0, byref(needed))
    text = ctypes.create_string_buffer(needed.value)
    _call(function, *arguments, text, needed, None)
    return text.value.decode()


def _fail_because(exception):
    """Tells the library in words why a function fails, for the errors that other workers get."""
    try:
        # What the library has said itself it recognizes.
        words = exception.args[0] if isinstance(exception, Error) else f"{type(exception).__name__}: {exception}"
        _lib.mdist_fail(0, words.split("\0")[0].encode(errors="backslashreplace"))
    except Exception:  # of their __str__
        _lib.mdist_fail(0, type(exception).__name__.encode())


class _Failures(dict):
    """Exceptions of callbacks, by the number that the callback returned: the library tells which came first."""

    _codes = itertools.count(1)

    def guard(self, function, *arguments):
        """Calls it on behalf of the library: 0, or the number of what it raised."""
        try:
            function(*arguments)
            return 0
        except BaseException as exception:
            return self.add(exception)

    def add(self, exception):
        """The number of an exception, which is for the library to get next, from this thread."""
        code = next(self._codes) % 0x7FFFFFFF + 1
        self[code] = exception
        _fail_because(exception)
        return code

    def cause(self, error):
        """What is behind an error; KeyboardInterrupt and its like go through as themselves."""
        found = self.get(error.native) if error.status == Status.CALLBACK else None
        if found is None:  # a collective that failed, of which steps had news, too
            same = (one for one in self.values() if isinstance(one, Error) and one.args[0] == error.args[0])
            found = next(same, None)
        if found is None and error.reason == "merge_open":  # the replica left a merge by an exception
            found = next((one for one in self.values() if not isinstance(one, Error)), None)
        if _interrupts(found):
            raise found
        return found or error.__cause__


class _CommonFailures(_Failures):
    """Those that belong to no call, of operators and of callbacks that lost an exception: the last numbers, and until
    some run ends their exceptions."""

    def add(self, exception):
        code = super().add(exception)
        while len(self) > 1024:
            self.pop(next(iter(self)), None)
        return code

    def forget(self):
        """Lets go of the exceptions, whose tracebacks lead to much."""
        for code in list(self):
            self[code] = None


_common_failures = _CommonFailures()

_callbacks: set[Any] = set()  # the code of each


def _callback(kind):
    """For functions that the library calls and that return what _Failures.guard does.

    An interrupt (Ctrl-C) at the first instruction of one is outside of any `try`, and so is a second one while it
    fails. ctypes gives such an exception to sys.unraisablehook, and returns what happens to be in memory, 0 or not.
    """
    def made(function):
        _callbacks.add(function.__code__)
        return kind(function)
    return made


_void_callbacks: dict[Any, Any] = {}  # by its code
_late: list[BaseException] = []  # interrupts of void callbacks, which a call on the main thread is to raise


def _void_callback(kind):
    """For functions that the library calls and that return nothing, so that an interrupt cannot fail them.

    One that comes before such a function has called the program's, and so has set its local variable `begun`, must not
    lose that call: it is made again. The interrupt is raised by the call of the library that is under way, or the next.
    """
    def made(function):
        callback = _void_callbacks[function.__code__] = kind(function)
        return callback
    return made


class _Hook:
    """sys.unraisablehook, in front of another: tells the library, which still waits for the callback, that it fails."""

    def __init__(self, other):
        self.other = other

    def __call__(self, unraisable):
        trace = unraisable.exc_traceback
        code = trace and trace.tb_frame.f_code
        if code in _callbacks:
            _lib.mdist_fail(_common_failures.add(unraisable.exc_value), None)
        elif code in _void_callbacks and _interrupts(unraisable.exc_value) and _is_main_thread():
            _late.append(unraisable.exc_value)
            variables = trace.tb_frame.f_locals
            if "begun" not in variables:
                _void_callbacks[code](*(variables[name] for name in code.co_varnames[:code.co_argcount]))
        else:
            self.other(unraisable)
