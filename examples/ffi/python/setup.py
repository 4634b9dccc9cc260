# SPDX-License-Identifier: Apache-2.0
"""Builds the package. With MDIST_BUNDLE=/path/to/libmdist.so.1, the wheel brings that library with it.

Such a wheel is for this machine's platform only. The other libraries that libmdist needs (ldd lists them) are not in
it. Without MDIST_BUNDLE the wheel is pure Python and uses the libmdist that is installed.
"""
import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

SONAME = "libmdist.so.1"
LIBRARY = os.environ.get("MDIST_BUNDLE", "")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib, "mdist", SONAME)
        target.unlink(missing_ok=True)  # of an earlier build in this folder
        if LIBRARY:
            if not os.path.isfile(LIBRARY):
                raise SystemExit(f"MDIST_BUNDLE names {LIBRARY!r}, which is no file. Give the path of {SONAME}")
            shutil.copy(LIBRARY, target)

    def get_outputs(self, include_bytecode=1):
        more = [str(pathlib.Path(self.build_lib, "mdist", SONAME))] if LIBRARY else []
        return [*super().get_outputs(include_bytecode), *more]


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
