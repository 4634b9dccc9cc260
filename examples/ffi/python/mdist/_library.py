# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libmdist."""
from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
from ctypes import c_void_p, py_object
from typing import Any, Iterator

from ._abi import FUNCTIONS

_SONAME = "libmdist.so.1"


def _names() -> Iterator[str]:
    """Where the library may be, the first choice first."""
    chosen = os.environ.get("MDIST_LIBRARY")
    if chosen is not None:  # what somebody names explicitly is used, or is an error
        yield chosen
        return
    bundled = pathlib.Path(__file__).with_name(_SONAME)  # a wheel may bring it
    if bundled.exists():
        yield str(bundled)
        return
    yield _SONAME
    folder = _pkg_config_folder()
    if folder:
        yield os.path.join(folder, _SONAME)


def _pkg_config_folder() -> str:
    """The folder that pkg-config knows, or "". Asked only if the loader does not find the library by itself."""
    try:
        found = subprocess.run(["pkg-config", "--variable=libdir", "mdist"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def _load() -> ctypes.CDLL:
    tried = []
    for name in _names():
        try:
            return _declared(ctypes.CDLL(name), name)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(f"cannot load libmdist ({'; '.join(tried)}). Install it, or set MDIST_LIBRARY to the path of "
                      f"{_SONAME}, which is in the folder lib of a build folder")


def _declared(library: ctypes.CDLL, name: str) -> ctypes.CDLL:
    for function, (result, parameters) in FUNCTIONS.items():
        try:
            found = getattr(library, function)
        except AttributeError:
            raise ImportError(f"{name} is older than this package: it has no {function}. Install the version of "
                              "libmdist that the package comes with") from None
        found.restype, found.argtypes = result, parameters
    return library


_lib = _load()


def _python(name: str, result: Any, *parameters: Any) -> Any:
    """A function of the interpreter itself."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))


_get_buffer = _python("PyObject_GetBuffer", ctypes.c_int, py_object, c_void_p, ctypes.c_int)
_release_buffer = _python("PyBuffer_Release", None, c_void_p)
