# SPDX-License-Identifier: Apache-2.0
"""The public headers as data, for generators and checkers of bindings.

    from header_model import read
    model = read()
    model.functions["mdist_run"].parameters[0]      Parameter(type='mdist_strategy_t *', name='strategy')

Everything keeps the order of the headers. A C type is text in one spelling: one space between words and before the
first star, none behind a star: "int32_t", "const char *", "void **", "mdist_value_t *const *", "struct DLManagedTensor **".
A declaration that this module does not understand raises ValueError. None is silently left out.
"""
import re
from dataclasses import dataclass

from public_headers import code, declarations, headers, without_comments

TAGS = ("thread", "blocks", "collective", "calls-back", "since")
TYPE = r"(?:const )?(?:struct )?\w+(?: ?\*(?: ?const\b)?)*"  # for text with single spaces only


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str


@dataclass(frozen=True)
class Function:
    name: str
    result: str  # a C type, or "void"
    parameters: tuple  # of Parameter
    tags: dict  # "thread", "blocks", "collective", "calls-back", "since" -> text
    comment: str  # the C comment, from /* to */
    where: str  # file:line


@dataclass(frozen=True)
class FunctionType:
    """typedef result (*name)(parameters)"""

    name: str
    result: str
    parameters: tuple


@dataclass(frozen=True)
class Field:
    type: str
    name: str
    length: int  # of an array; 0 otherwise


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple


@dataclass(frozen=True)
class Enum:
    name: str
    members: dict  # name -> number, without the PIN_INT32 member


@dataclass(frozen=True)
class Model:
    """All declarations by name, in the order of the headers."""

    functions: dict
    function_types: dict
    structs: dict
    enums: dict
    handles: tuple  # opaque struct typedefs: "mdist_strategy_t" ...; only used as pointers
    foreign: tuple  # structs of other libraries: "struct DLManagedTensor" ...; only used as pointers
    macros: dict  # name -> number


def spelled(text):
    """Returns a C type in the spelling of this module."""
    words = re.sub(r"\s*\*\s*", "*", " ".join(text.split()))
    return re.sub(r"(?<=\w)\*", " *", words).strip()


def parameter(text):
    found = re.fullmatch(rf"({TYPE}) ?(\w+)", " ".join(text.split()))
    if not found:
        raise ValueError(f"not a parameter with a name: {text!r}")
    return Parameter(spelled(found[1]), found[2])


def parameters(text):
    return () if text.strip() == "void" else tuple(parameter(one) for one in text.split(","))


def tags(comment):
    """Returns the text of each tag. It ends at the next tag or at the end of the comment."""
    plain = re.sub(r"\n\s*\*(?!/)", "\n", comment.rstrip("*/ \n"))
    found = re.findall(rf"@({'|'.join(TAGS)})\s+(.*?)(?=@|\Z)", plain, flags=re.S)
    return {name: " ".join(text.split()) for name, text in found}


def number(text):
    text = text.strip()
    if text == "-0x7fffffff - 1":
        return -(2**31)
    return int(text, 0)


def fields(body):
    for text in filter(str.strip, body.split(";")):
        found = re.fullmatch(rf"({TYPE}) ?(\w+)(?:\[(\d+)\])?", " ".join(text.split()))
        if not found:
            raise ValueError(f"not a field: {text!r}")
        yield Field(spelled(found[1]), found[2], int(found[3] or 0))


def members(body):
    for text in filter(str.strip, body.split(",")):
        name, value = text.split("=")
        if not name.strip().endswith("_PIN_INT32"):
            yield name.strip(), number(value)


class Reader:
    """Takes declarations out of the text of one header. Text that remains at the end was not understood."""

    def __init__(self, text):
        self.text = text

    def take(self, pattern):
        pattern = re.compile(pattern, re.S)
        found = list(pattern.finditer(self.text))
        self.text = pattern.sub("", self.text)
        return found

    def finish(self, where):
        if self.text.strip():
            raise ValueError(f"{where}: not understood: {' '.join(self.text.split())[:200]}")


def read_functions():
    for one in declarations():
        found = re.fullmatch(rf"MDIST_API ({TYPE}) ?(\w+)\((.*)\)", one.text)
        if not found:
            raise ValueError(f"{one.where}: not a function: {one.text}")
        yield Function(found[2], spelled(found[1]), parameters(found[3]), tags(one.comment), one.comment, one.where)


def read():
    function_types, structs, enums, handles, foreign, macros = {}, {}, {}, [], [], {}
    for path in headers():
        source = path.read_text()
        for name, value in re.findall(r"^#define (MDIST_\w+) (\w+)", without_comments(source), flags=re.M):
            if name != "MDIST_API":
                macros[name] = number(value)
        reader = Reader(re.sub(r'^(extern "C" \{|\})$', "", code(source), flags=re.M))
        reader.take(r"MDIST_API\b[^;]*;")
        for found in reader.take(r"typedef\s+enum\s+\w+\s*\{([^}]*)\}\s*(\w+)\s*;"):
            enums[found[2]] = Enum(found[2], dict(members(found[1])))
        for found in reader.take(r"typedef\s+struct\s+\w+\s*\{([^}]*)\}\s*(\w+)\s*;"):
            structs[found[2]] = Struct(found[2], tuple(fields(found[1])))
        for found in reader.take(r"typedef\s+struct\s+\w+\s+(\w+)\s*;"):
            handles.append(found[1])
        for found in reader.take(r"typedef\s+([\w\s*]+?)\s*\(\*(\w+)\)\(([^)]*)\)\s*;"):
            function_types[found[2]] = FunctionType(found[2], spelled(found[1]), parameters(found[3]))
        for found in reader.take(r"\b(struct\s+\w+)\s*;"):
            foreign.append(spelled(found[1]))
        reader.finish(path.name)
    functions = {one.name: one for one in read_functions()}
    return Model(functions, function_types, structs, enums, tuple(handles), tuple(foreign), macros)
