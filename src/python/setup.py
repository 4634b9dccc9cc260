# SPDX-License-Identifier: Apache-2.0
"""Builds the package. MDIST_BUNDLE says which libmdist the wheel brings:

    the path of libmdist.so.2        this one
    the folder of an installation    its libmdist.so.2, and its program mdist
    none                             none: the wheel is pure Python, and uses the libmdist that is installed
    not set                          what is built of the sources in the folder libmdist, which an sdist has; else none

A wheel with a library is for this machine's platform only. It also brings the libraries that libmdist needs, except
those in BASE.
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
SOURCES = pathlib.Path(__file__).resolve().with_name("libmdist")
CHOSEN = os.environ.get("MDIST_BUNDLE") or (str(SOURCES) if SOURCES.is_dir() else "none")
BRINGS_LIBRARY = CHOSEN != "none"
# What every system has on which Python runs.
BASE = ("libc", "libm", "libgcc_s", "libstdc++", "libz", "libpthread", "libdl", "librt", "ld-linux-x86-64",
        "ld-linux-aarch64")


def comes_with_every_system(name):
    return name.partition(".so")[0] in BASE


def needed(library):
    """Files of the libraries that a wheel must bring beside libmdist, by their names for the loader."""
    asked = subprocess.run(["ldd", library], capture_output=True, text=True)
    if asked.returncode != 0:  # of another machine
        dynamic = subprocess.run(["readelf", "--dynamic", library], capture_output=True, text=True, check=True).stdout
        others = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not comes_with_every_system(name)]
        if others:
            raise SystemExit(f"{library} is not for this machine, and needs {', '.join(others)}, which cannot be found here")
        return {}
    found = dict(re.findall(r"^\s*(\S+) => (\S+)", asked.stdout, re.M))
    missing = [name for name, file in found.items() if file == "not"]
    if missing:
        raise SystemExit(f"{library} needs {', '.join(missing)}, which the loader does not find here; install it first")
    return {name: file for name, file in found.items() if not comes_with_every_system(name)}


def build(folder):
    """Builds and installs what the sources make; returns the installation's folder."""
    made, installed = folder / "libmdist-build", folder / "libmdist-installed"
    shutil.rmtree(made, ignore_errors=True)
    try:
        subprocess.run(["meson", "setup", made, SOURCES, f"--prefix={installed}", "--libdir=lib", "-Dgpu=disabled",
                        "-Dffi=disabled"], check=True)
        subprocess.run(["meson", "install", "-C", made, "--tags", "runtime"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"libmdist could not be built: {error}. It needs g++ or clang++, Meson 1.0.1 or later, "
                         "Ninja, pkg-config, and the headers of libyaml, zlib and nlohmann-json (Debian: g++ meson "
                         "ninja-build pkg-config libyaml-dev zlib1g-dev nlohmann-json3-dev). To use a libmdist that "
                         "is installed, set MDIST_BUNDLE=none") from None
    return installed


def files_of(chosen):
    """What the wheel brings: files by their place in the folder mdist/_bundle."""
    found = [chosen] if chosen.is_file() else sorted(chosen.glob(f"lib*/**/{SONAME}"))
    if not found:
        raise SystemExit(f"MDIST_BUNDLE names '{chosen}', which is neither a file nor a folder of an installation with "
                         f"lib/{SONAME}. Give the path of {SONAME}, or of such a folder, or \"none\"")
    files = {f"lib/{name}": file for name, file in {SONAME: found[0], **needed(found[0])}.items()}
    if (chosen / "bin/mdist").is_file():
        files["bin/mdist"] = chosen / "bin/mdist"
    return files


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        bundle = pathlib.Path(self.build_lib, "mdist/_bundle")
        shutil.rmtree(bundle, ignore_errors=True)  # of an earlier build in this folder
        if not BRINGS_LIBRARY:
            return
        chosen = pathlib.Path(CHOSEN)
        if chosen == SOURCES:
            chosen = build(pathlib.Path(self.get_finalized_command("build").build_temp).resolve())
        for place, file in files_of(chosen).items():
            (bundle / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, bundle / place)

    def get_outputs(self, include_bytecode=1):
        bundled = pathlib.Path(self.build_lib, "mdist/_bundle").glob("*/*")
        return [*super().get_outputs(include_bytecode), *map(str, bundled)]


class ForThisPlatform(Distribution):
    def has_ext_modules(self):
        return BRINGS_LIBRARY


commands = {"build_py": BuildWithLibrary}
entry_points = {"torch.backends": ["mdist = _mdist_for_torch:register"]}
if BRINGS_LIBRARY:
    try:
        from setuptools.command.bdist_wheel import bdist_wheel
    except ImportError:  # before setuptools 70.1
        from wheel.bdist_wheel import bdist_wheel

    class AnyPython(bdist_wheel):
        """The library does not depend on the version of Python, only on the platform."""

        def get_tag(self):
            return "py3", "none", super().get_tag()[2]

    commands["bdist_wheel"] = AnyPython
    if not os.path.isfile(CHOSEN):  # a library alone brings no program
        entry_points["console_scripts"] = ["mdist = mdist.__main__:main"]

setup(cmdclass=commands, distclass=ForThisPlatform, entry_points=entry_points, license="Apache-2.0")
