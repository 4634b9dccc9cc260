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

_SONAME = "libmdist.so.2"
_BUNDLE = pathlib.Path(__file__).with_name("_bundle")  # what a wheel brings of an installation: lib, and bin
_BUNDLED = _BUNDLE / "lib" / _SONAME


def _names() -> Iterator[str]:
    """Where the library may be, the first choice first."""
    chosen = os.environ.get("MDIST_LIBRARY")
    if chosen is not None:  # what somebody names explicitly is used, or is an error
        yield chosen
        return
    if _BUNDLED.exists():
        yield str(_BUNDLED)
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
    advice = f"Install it, or set MDIST_LIBRARY to the path of {_SONAME}, which is in the folder lib of a build folder"
    for name in _names():
        try:
            if name == str(_BUNDLED):
                _load_what_is_beside()
            return _declared(ctypes.CDLL(name), name)
        except OSError as error:
            missing, _, why = str(error).partition(": ")
            if missing != name and why.startswith("cannot open shared object file"):
                tried.append(f"{name} needs {missing}, which the loader does not find")
                advice = f"Install the library {missing}"
            else:
                tried.append(str(error))
    raise ImportError(f"cannot load libmdist ({'; '.join(tried)}). {advice}")


def _load_what_is_beside() -> None:
    """What a wheel brings of the libraries that libmdist needs. The loader takes those that are loaded already."""
    for needed in sorted(_BUNDLED.parent.glob("lib*.so*")):
        if needed != _BUNDLED:
            ctypes.CDLL(str(needed))


def _loaded_file() -> pathlib.Path:
    """The file of the library that was loaded."""
    with open("/proc/self/maps") as maps:
        return next(pathlib.Path(line.split(maxsplit=5)[-1].rstrip()) for line in maps if "/libmdist.so" in line)


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
