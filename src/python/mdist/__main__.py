# SPDX-License-Identifier: Apache-2.0
"""`python -m mdist ARGUMENT...` runs the program mdist that comes with the loaded library."""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from ._library import _loaded_file


def _places() -> list[Path]:
    """Where the program may be: beside the library, or where an installation or a build folder has it."""
    folder = _loaded_file().parent
    above = [*folder.parents][:2]  # lib, or lib/x86_64-linux-gnu
    return [folder / "mdist", *(one / place / "mdist" for one in above for place in ("bin", "src"))]


def main() -> None:
    places = _places()
    found = [str(one) for one in places if one.is_file() and os.access(one, os.X_OK)]
    program = found[0] if found else shutil.which("mdist")
    if program is None:
        sys.exit(f"python -m mdist: there is no program mdist at {', '.join(map(str, places))}, nor on the PATH; build "
                 "libmdist with -Dtool=enabled")
    os.execv(program, [program, *sys.argv[1:]])


main()
