# SPDX-License-Identifier: Apache-2.0
"""Makes a library that has all functions of a folder of public headers, with empty bodies. Tools for ABIs read it: its
debug information is what the headers promise, and nothing of what lies behind the handles."""
import pathlib
import subprocess

import public_headers


def source_of(include):
    public_headers.FOLDER = pathlib.Path(include) / "mdist"
    lines = ["#include <mdist/mdist.h>"]
    for one in public_headers.declarations():
        plain = one.text.removeprefix("MDIST_API ")
        lines.append(plain + (" {}" if plain.startswith("void mdist_") else " { return 0; }"))
    return "\n".join(lines) + "\n"


def make_stub(include, library, compiler=("cc",)):
    """Writes `library`, for the headers below the folder `include`."""
    source = pathlib.Path(library).with_suffix(".c")
    source.write_text(source_of(include))
    subprocess.run([*compiler, "-g", "-shared", "-fPIC", "-w", "-I", include, source, "-o", library], check=True)
