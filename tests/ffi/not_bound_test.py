# SPDX-License-Identifier: Apache-2.0
"""The README of each binding lists what is not bound: exactly the functions that its source does not call. In the first
column of the table "Not bound yet" a function's name stands for itself, and a header's for all of its functions that are
not bound. (The list of the Julia module is compared by julia_signatures_test.py.)"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "abi"))

from header_model import read  # noqa: E402
from public_headers import ROOT, finish  # noqa: E402

# (folder of the binding, its sources, those that are generated and name everything, where its README is)
BINDINGS = [
    ("src/python", ["mdist/*.py"], ["mdist/_abi.py"], "src/python/README.md"),
    ("src/go", ["mdist/*.go", "mdist/*.c"], [], "src/go/README.md"),
    ("src/rust", ["mdist/src/*.rs"], [], "src/rust/README.md"),
    ("include", ["mdist/*.hpp"], [], "docs/reference/cpp.md"),
]
model = read()
header_of = {name: pathlib.Path(one.where.partition(":")[0]).name for name, one in model.functions.items()}


def called(folder, sources, generated):
    """Functions that are named in the code, outside of comments."""
    found = set()
    for pattern in sources:
        for path in folder.glob(pattern):
            if str(path.relative_to(folder)) not in generated and not path.name.endswith("_test.go"):
                code = re.sub(r"(//|^\s*#(?!include)).*", "", path.read_text(), flags=re.M)
                found |= set(re.findall(r"\bmdist_\w+", code))
                # Python's collectives are looked up by name.
                found |= {"mdist_" + name for name in re.findall(r'_collective\("(\w+)"', code)}
    return found & set(model.functions)


def listed(readme):
    section = re.search(r"^## Not bound yet$(.*?)(?=^## |\Z)", readme, flags=re.M | re.S)
    cells = [line.split("|")[1] for line in (section[1] if section else "").splitlines() if line.startswith("|")]
    names = re.findall(r"`([\w.]+)`", " ".join(cells))
    return {name for name in names if name.startswith("mdist_") and name in model.functions}, \
        {name for name in names if name.endswith(".h")}


def problems(binding):
    folder, sources, generated, readme = binding
    bound = called(ROOT / folder, sources, generated)
    names, headers = listed((ROOT / readme).read_text())
    missing = set(model.functions) - bound
    covered = names | {name for name in missing if header_of[name] in headers}
    yield from (f"{readme}: {name} ({header_of[name]}) is not bound, and not named as such"
                for name in sorted(missing - covered))
    yield from (f"{readme}: {name} is named as not bound, and is" for name in sorted(names & bound))
    yield from (f"{readme}: {header} is named as not bound, and all of it is" for header in sorted(headers)
                if not any(header_of[name] == header for name in missing))


found = [problem for binding in BINDINGS for problem in problems(binding)]
sys.exit(finish(found, len(BINDINGS) * len(model.functions)))
