# SPDX-License-Identifier: Apache-2.0
"""Builds the package. With MDIST_BUNDLE=/path/to/libmdist.so.2, the wheel brings that library with it.

Such a wheel is for this machine's platform only. It also brings the libraries that libmdist needs, except those in BASE.
Without MDIST_BUNDLE the wheel is pure Python and uses the libmdist that is installed.
"""
import os
import pathlib
import re
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

SONAME = "libmdist.so.2"
LIBRARY = os.environ.get("MDIST_BUNDLE", "")
# What every system has on which Python runs.
BASE = ("libc", "libm", "libgcc_s", "libstdc++", "libz", "libpthread", "libdl", "librt")


def needed():
    """Files of the libraries that a wheel must bring beside libmdist, by their names for the loader."""
    listed = subprocess.run(["ldd", LIBRARY], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (\S+)", listed, re.M))
    missing = [name for name, file in found.items() if file == "not"]
    if missing:
        raise SystemExit(f"{LIBRARY} needs {', '.join(missing)}, which the loader does not find here; install it first")
    return {name: file for name, file in found.items() if name.partition(".so")[0] not in BASE}


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        folder = pathlib.Path(self.build_lib, "mdist")
        for old in folder.glob("lib*.so*"):  # of an earlier build in this folder
            old.unlink()
        if LIBRARY:
            if not os.path.isfile(LIBRARY):
                raise SystemExit(f"MDIST_BUNDLE names {LIBRARY!r}, which is no file. Give the path of {SONAME}")
            for name, file in {SONAME: LIBRARY, **needed()}.items():
                shutil.copy(file, folder / name)

    def get_outputs(self, include_bytecode=1):
        more = pathlib.Path(self.build_lib, "mdist").glob("lib*.so*")
        return [*super().get_outputs(include_bytecode), *map(str, more)]


class ForThisPlatform(Distribution):
    def has_ext_modules(self):
        return bool(LIBRARY)


commands = {"build_py": BuildWithLibrary}
if LIBRARY:
    from wheel.bdist_wheel import bdist_wheel

    class AnyPython(bdist_wheel):
        """The library does not depend on the version of Python, only on the platform."""

        def get_tag(self):
            return "py3", "none", super().get_tag()[2]

    commands["bdist_wheel"] = AnyPython

setup(cmdclass=commands, distclass=ForThisPlatform)
