# SPDX-License-Identifier: Apache-2.0
"""Reads out of Julia's source what it says of C: calls, structs, enums, constants. No Julia is needed.

It knows the forms that src/julia uses. A form that it does not know is a problem, never passed over.
"""
import re
from dataclasses import dataclass

STRING = re.compile(r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"', re.S)
CALL = re.compile(r"@ccall\s+(?:(\w+)\.)?(\w+)\(")


@dataclass
class Call:
    where: str
    library: str  # the name before the dot; "" for none
    name: str
    arguments: list  # types; "" where none is written
    result: str


class Source:
    """One file without comments and with empty strings; `problems` collects what is not understood."""

    def __init__(self, name, text):
        self.name = name
        # Strings first and comments with them, in one pass: each may hold what looks like the other.
        token = re.compile(rf"({STRING.pattern})|#=.*?=#|#[^\n]*", re.S)
        blank = lambda text: re.sub(r"[^\n]", "", text)
        self.text = token.sub(lambda found: '"' + blank(found[0]) + '"' if found[1] else blank(found[0]), text)
        self.problems = []

    def where(self, position):
        return f"{self.name}:{self.text.count(chr(10), 0, position) + 1}"

    def complain(self, position, what):
        self.problems.append(f"{self.where(position)}: {what}")

    def closing(self, start):
        """Position of the bracket that closes the one at start."""
        depth = 0
        for i in range(start, len(self.text)):
            depth += (self.text[i] in "([{") - (self.text[i] in ")]}")
            if depth == 0:
                return i
        return len(self.text) - 1

    def split(self, text):
        """The parts between commas that stand in no bracket."""
        parts, depth, begin = [], 0, 0
        for i, character in enumerate(text):
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                parts.append(text[begin:i])
                begin = i + 1
        return [part for part in [*parts, text[begin:]] if part.strip()]

    def type_of(self, argument):
        """What stands behind the last :: outside of brackets."""
        depth, found = 0, ""
        for i, character in enumerate(argument):
            depth += (character in "([{") - (character in ")]}")
            if depth == 0 and argument.startswith("::", i):
                found = argument[i + 2 :]
        return "".join(found.split())

    def calls(self):
        for found in CALL.finditer(self.text):
            end = self.closing(found.end() - 1)
            arguments = [self.type_of(part) for part in self.split(self.text[found.end() : end])]
            result = re.match(r"::([\w.]+(?:\{[\w{},]*\})?)", self.text[end + 1 :])
            yield Call(self.where(found.start()), found[1] or "", found[2], arguments, result[1] if result else "")
        for found in re.finditer(r"@ccall\b|(?<![@\w])ccall\b", self.text):
            if not CALL.match(self.text, found.start()):
                self.complain(found.start(), "a C call in a form that is not understood")

    def symbols(self):
        """(position, library, name) of each cglobal((:name, library))."""
        for found in re.finditer(r"\bcglobal\b", self.text):
            form = re.match(r"cglobal\(\(:(\w+), (\w+)\)\)", self.text[found.start() :])
            if form:
                yield found.start(), form[2], form[1]
            else:
                self.complain(found.start(), "a cglobal in a form that is not understood")

    def structs(self):
        """(position, name, [(field, type)]) of those with a C name."""
        for found in re.finditer(r"^struct (mdist_\w+)\n(.*?)^end$", self.text, flags=re.M | re.S):
            lines = [line.strip() for line in found[2].splitlines() if line.strip()]
            yield found.start(), found[1], [tuple(line.split("::")) if "::" in line else (line, "") for line in lines]

    def handles(self):
        for found in re.finditer(r"^mutable struct (mdist_\w+)(.*)$", self.text, flags=re.M):
            if found[2].strip() != "end":
                self.complain(found.start(), f"{found[1]} has fields; a handle has none")
            yield found.start(), found[1]

    def enums(self):
        """(position, name, integer type, {member: number})"""
        for found in re.finditer(r"@enum (\w+)(?:::(\w+))? begin\n(.*?)^end$", self.text, flags=re.M | re.S):
            members = dict(line.split("=") for line in found[3].splitlines() if line.strip())
            yield found.start(), found[1], found[2] or "", {key.strip(): int(value, 0) for key, value in members.items()}

    def numbers(self):
        for found in re.finditer(r"^const ([A-Z][A-Z_]+) = (-?(?:0x[0-9a-f]+|\d+))$", self.text, flags=re.M):
            yield found.start(), found[1], int(found[2], 0)

    def aliases(self):
        """const Out{T} = Ref{Ptr{T}}"""
        return re.findall(r"^const (\w+)\{T\} = ([\w{}]+)$", self.text, flags=re.M)
