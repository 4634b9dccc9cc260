# SPDX-License-Identifier: Apache-2.0
"""The virtual environments of the frameworks. README.md says where they lie."""
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Skipped(Exception):
    """Why a framework cannot be run here."""


def cache():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mdist-frameworks"


def environment_of(name):
    """The folder of the framework's virtual environment, which is made first if its requirements have changed."""
    requirements = HERE / name / "requirements.txt"
    text = requirements.read_text() if requirements.exists() else ""
    version = hashlib.sha256((text + sys.version).encode()).hexdigest()[:16]
    folder = cache() / name / version
    complete = folder / "complete"  # a moved environment would not work, so this says that nothing is missing
    if complete.exists():
        return folder
    print(f"{name}: installing into {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    if text:
        command = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                   "--requirement", str(requirements)]
        if subprocess.run(command, check=False).returncode != 0:
            raise Skipped(f"pip could not install {requirements.relative_to(ROOT)} (the reason is above)")
    complete.touch()
    return folder
