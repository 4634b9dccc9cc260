# SPDX-License-Identifier: Apache-2.0
"""The library, the version script and the headers name the same functions."""
import re
import subprocess
import sys

from public_headers import ROOT, declarations, finish, without_comments


def exported(library):
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library], text=True, capture_output=True, check=True
    ).stdout
    return [line.split()[-1] for line in listing.splitlines() if line.split()[-2] != "A"]


def mapped():
    """Returns the node of each name in the version script."""
    nodes = {}
    plain = without_comments((ROOT / "lib" / "mdist.map").read_text())
    for node, body in re.findall(r"^(\S+)\s*\{(.*?)\}", plain, flags=re.M | re.S):
        for line in re.sub(r"local:.*", "", body, flags=re.S).replace("global:", "").splitlines():
            if line.strip():
                nodes[line.strip().rstrip(";")] = node
    return nodes


def main():
    in_library, in_map = {}, mapped()
    for symbol in exported(sys.argv[1]):
        name, _, version = symbol.partition("@")
        in_library[name] = version.lstrip("@")
    in_headers = {declaration.name: declaration.where for declaration in declarations()}
    problems = [f"{name}: a C++ name is exported" for name in in_library if name.startswith("_Z")]
    for name in sorted(set(in_library) | set(in_map) | set(in_headers)):
        places = {"the library": in_library, "mdist.map": in_map, "the headers": in_headers}
        missing = [place for place, names in places.items() if name not in names]
        if missing:
            problems.append(f"{name}: not in {', '.join(missing)}")
        elif in_library[name] != in_map[name]:
            problems.append(f"{name}: exported as {in_library[name]}, mapped to {in_map[name]}")
        if not re.fullmatch(r"mdist_[a-z0-9_]+", name):
            problems.append(f"{name}: not of the form mdist_noun_verb")
    return finish(problems, len(in_headers))


sys.exit(main())
