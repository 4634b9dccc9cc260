# SPDX-License-Identifier: Apache-2.0
"""Reads the public headers for the other checks: declarations with their comments, types, macros."""
import functools
import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "include" / "mdist"


@dataclass
class Declaration:
    name: str
    text: str  # from MDIST_API to before the semicolon, on one line
    comment: str
    where: str

    @property
    def parameters(self):
        return [one.strip() for one in self.text[self.text.index("(") + 1 : self.text.rindex(")")].split(",")]


def headers():
    return sorted(FOLDER.glob("*.h"))


@functools.cache
def without_comments(source):
    """Removes comments. Line numbers stay the same."""
    return re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), source, flags=re.S)


@functools.cache
def code(source):
    """Removes comments and preprocessor lines."""
    plain = without_comments(source)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", plain, flags=re.M)


def declarations():
    found = []
    for path in headers():
        source = path.read_text()
        for match in re.finditer(r"^MDIST_API\b([^;]*);", source, flags=re.M):
            text = " ".join(match[0].rstrip(";").split())
            name = re.search(r"\b(\w+)\s*\(", re.sub(r"^MDIST_API", "", text))
            before = source[: match.start()].rstrip()
            comment = before[before.rfind("/*") :] if before.endswith("*/") else ""
            line = source.count("\n", 0, match.start()) + 1
            found.append(Declaration(name[1] if name else text, text, comment, f"{path.name}:{line}"))
    return found


def struct_types():
    """Returns the names of all struct typedefs, including opaque ones."""
    names = set()
    for path in headers():
        plain = code(path.read_text())
        names |= set(re.findall(r"typedef\s+struct\s+\w+\s+(\w+)\s*;", plain))
        names |= set(re.findall(r"typedef\s+struct\s+\w*\s*\{[^}]*\}\s*(\w+)\s*;", plain))
    return names


def finish(problems, checked):
    """Prints every problem. Returns the exit status of the check."""
    for problem in problems:
        print(problem)
    print(f"{checked} checked, {len(problems)} wrong")
    return 1 if problems or not checked else 0
