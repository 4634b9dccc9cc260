# SPDX-License-Identifier: Apache-2.0
"""check.py FOLDER: holds an installed libmdist and its program against what every Linux of the last years has.

Both may need glibc 2.34 at most, libgcc_s, and nothing else; the library shows the functions of its map alone.
"""
import pathlib
import re
import subprocess
import sys

ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
NEWEST_GLIBC = (2, 34)
MEGABYTES = 6


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *map(str, arguments)], text=True, capture_output=True, check=True).stdout


def check_needs(file, allowed):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", file)))
    for name in sorted(needed - allowed):
        yield f"{file.name} needs {name}"
    for found in sorted(set(re.findall(r"\bGLIBC_(\d+)\.(\d+)", readelf("--version-info", file)))):
        if tuple(map(int, found)) > NEWEST_GLIBC:
            yield f"{file.name} needs glibc {'.'.join(found)}; at most {'.'.join(map(str, NEWEST_GLIBC))} is old enough"


def check_names(library):
    for line in readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) > 7 and fields[4] in ("GLOBAL", "WEAK", "UNIQUE") and fields[6] not in ("UND", "ABS"):
            if not re.fullmatch(r"mdist_[a-z0-9_]+@@MDIST_[0-9.]+", fields[7]):
                yield f"{library.name} shows {fields[7]}, which is no function of libmdist"


def main():
    folder = pathlib.Path(sys.argv[1])
    library, program = next((folder / "lib").glob("libmdist.so.?")), folder / "bin/mdist"
    problems = [*check_needs(library, ALLOWED), *check_needs(program, ALLOWED | {library.name}), *check_names(library)]
    if library.stat().st_size > MEGABYTES << 20:
        problems.append(f"{library.name} has {library.stat().st_size} bytes; at most {MEGABYTES} MiB are allowed")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
