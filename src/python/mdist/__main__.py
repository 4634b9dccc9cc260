# SPDX-License-Identifier: Apache-2.0
"""`python -m mdist ARGUMENT...` runs the program mdist that comes with the loaded library. So does the command `mdist`,
which a wheel with the program in it installs."""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from ._library import _BUNDLE, _loaded_file


def _places() -> list[Path]:
    """Where the program may be: beside the library, where an installation or a build has it, or in this package."""
    folder = _loaded_file().parent
    above = [*folder.parents][:2]  # lib, or lib/x86_64-linux-gnu
    places = [folder, *(one / place for one in above for place in ("bin", "src")), _BUNDLE / "bin"]
    return list(dict.fromkeys(place / "mdist" for place in places))


def main() -> None:
    places = _places()
    found = [str(one) for one in places if one.is_file() and os.access(one, os.X_OK)]
    where = ", ".join(map(str, places))
    if __name__ == "__main__":  # the command mdist would find itself there
        found += filter(None, [shutil.which("mdist")])
        where += ", nor on the PATH"
    if not found:
        sys.exit(f"python -m mdist: there is no program mdist at {where}; build libmdist with -Dtool=enabled")
    os.execv(found[0], [found[0], *sys.argv[1:]])


if __name__ == "__main__":
    main()
