# SPDX-License-Identifier: Apache-2.0
"""The public headers can be bound from every language: each function has its tags, and no construct breaks a binding."""
import re
import sys

from public_headers import FOLDER, code, declarations, finish, headers, struct_types, without_comments

TAGS = ["@thread", "@blocks", "@collective", "@calls-back", "@since"]
INCLUDES = re.compile(r"#\s*include\s+<(stddef\.h|stdint\.h|mdist/\w+\.h)>")
FORBIDDEN_WORDS = (
    "union inline static bool _Bool long short unsigned signed float wchar_t ssize_t time_t off_t FILE va_list "
    "volatile restrict register goto"
).split()
# Field names that are keywords in some language, whose bindings would have to rename them.
KEYWORDS = set("type ref in fn end func map range select go var let mut use self None def from import class object".split())
COLUMNS = 120
STRUCTS = struct_types()


def check_tags():
    for one in declarations():
        for tag in TAGS:
            found = re.findall(rf"(?:^ \* |   ){re.escape(tag)}\s+(\S[^@\n]*)", one.comment, flags=re.M)
            if len(found) != 1:
                yield f"{one.where}: {one.name} has {len(found)} tags {tag} (at the start of a line or after 3 spaces)"


def check_words(path, plain):
    for number, line in enumerate(plain.splitlines(), 1):
        where = f"{path.name}:{number}"
        for word in FORBIDDEN_WORDS:
            if re.search(rf"\b{word}\b", line):
                yield f"{where}: {word}"
        if re.search(r"\bint\b", line):
            yield f"{where}: int; use int32_t"
        if "..." in line:
            yield f"{where}: variadic"
        if re.search(r"\w\s*\[\s*\]", line):
            yield f"{where}: array without a length"
        if re.search(r"\b\w+\s+\w+\s*:\s*\d+\s*;", line):
            yield f"{where}: bit-field"
        if re.search(r"\bextern\b(?!\s+\"C\")", line):
            yield f"{where}: a variable"


def check_macros(path, plain):
    for name, parameters, body in re.findall(r"^[ \t]*#\s*define\s+(\w+)(\([^)]*\))?[ \t]*(.*)$", plain, flags=re.M):
        if not name.startswith("MDIST_"):
            yield f"{path.name}: macro {name} does not begin with MDIST_"
        guard = f"MDIST_{path.stem.upper()}_H"
        plain_number = re.fullmatch(r"\d+|0x[0-9a-f]+", body.strip())
        if name not in ("MDIST_API", guard) and (parameters or not plain_number):
            yield f"{path.name}: macro {name} is not a bare number"
    for line in re.findall(r"^[ \t]*#\s*include.*$", plain, flags=re.M):
        if not INCLUDES.match(line.strip()):
            yield f"{path.name}: {line.strip()}"


def check_types(path, plain):
    for found in re.finditer(r"\(([^()]*)\)\s*;", plain):
        for parameter in found[1].split(","):
            words = re.findall(r"\w+|\*", parameter)
            if "*" not in words and STRUCTS & set(words):
                yield f"{path.name}: struct by value: {parameter.strip()}"
    for name in STRUCTS:
        if re.search(rf"^MDIST_API\s+(?:const\s+)?{name}\s+\w", plain, flags=re.M):
            yield f"{path.name}: a function returns {name} by value"
    for kind, body, name in re.findall(r"typedef\s+(struct|enum)\s+\w*\s*\{([^}]*)\}\s*(\w+)\s*;", plain):
        if kind == "enum" and not re.search(r"_PIN_INT32\s*=\s*-0x7fffffff - 1", body):
            yield f"{path.name}: enum {name} lacks its PIN_INT32 member"
        if kind == "enum" and any("=" not in member for member in body.split(",") if member.strip()):
            yield f"{path.name}: enum {name} has a member without a number"
        if kind == "struct":
            fields = re.findall(r"(\w+)\s*(?:\[\d+\])?\s*;", body)
            yield from (f"{path.name}: field {field} of {name} is a keyword" for field in fields if field in KEYWORDS)
    for name in re.findall(r"typedef\b[^;{]*?\(\s*\*\s*(\w+)\s*\)", plain):
        if not re.fullmatch(r"mdist_\w+_fn", name):
            yield f"{path.name}: function type {name} is not of the form mdist_x_fn"


# What a name without an object means: a replica acts, in a step; or a strategy acts.
OF_A_REPLICA = (
    "all_reduce broadcast all_gather reduce_scatter all_to_all reduce_to_root gather_to_root scatter barrier send receive "
    "merge average_loss scale_regularization collective"
).split()
OF_A_STRATEGY = "run map update serve distribute scope cached_reads set_default_strategy alloc step_register values commit regroup membership".split()
OUTPUTS = "out outputs results text needed done".split()


def begins_with(name, words):
    return any(name == word or name.startswith(word + "_") for word in words)


def check_name(one):
    """A name tells what acts: in mdist_<object>_<verb> that object, else a replica or a strategy."""
    name, first = one.name.removeprefix("mdist_"), one.parameters[0]
    objects = [kind.removeprefix("mdist_").removesuffix("_t") for kind in STRUCTS]
    if re.match(r"(const )?mdist_replica_t \*\w", first):
        behind = [kind for kind in objects if f"mdist_{kind}_t *" in "".join(one.parameters[1:2])]
        allowed = ["replica", *OF_A_REPLICA, *behind]
    elif re.match(r"(const )?mdist_strategy_t \*\w", first):
        allowed = [*objects, *OF_A_STRATEGY]
    else:
        if begins_with(name, ["replica", *OF_A_REPLICA]):
            yield f"{one.where}: {one.name} takes no replica, but its name promises one"
        return
    if not begins_with(name, allowed):
        yield f"{one.where}: {one.name} takes {first}, but its name does not tell"


def order_of(parameter):
    """Where a parameter belongs; None for the size of an array, which follows the array."""
    name = re.search(r"\w+$", parameter)[0]
    if name in ("error", "options"):
        return 3 if name == "error" else 2
    if name.endswith("count") or name == "capacity":
        return None
    return 1 if name in OUTPUTS and "*" in parameter and not parameter.startswith("const ") else 0


def check_order(one):
    """Inputs, then outputs, then options, then error. What is behind an output is an output too."""
    known = [order_of(parameter) for parameter in one.parameters if parameter != "void"]
    last = 0
    for parameter, order in zip(one.parameters, known):
        if order == 0 and last == 1 and re.search(r"\*\w+$", parameter) and not parameter.startswith("const mdist"):
            order = 1
        if order is not None and order < last:
            yield f"{one.where}: {one.name} has its parameters in another order than inputs, outputs, options, error"
        last = order if order is not None else last
    for parameter, following in zip(one.parameters, one.parameters[1:] + [""]):
        if re.match(r"mdist_(?!free_)\w+_fn ", parameter) and not following.startswith(("void *", "mdist_")):
            yield f"{one.where}: {one.name} has a function without user_data behind it"


def check_shape(one):
    """The error comes last if there is a status, and functions that free take one handle."""
    parameters = ", ".join(one.parameters)
    gives_status = re.match(r"MDIST_API mdist_status_t ", one.text)
    if gives_status and not one.name.startswith("mdist_error_") and not parameters.endswith("mdist_error_t **error"):
        yield f"{one.where}: {one.name} gives a status, but does not end in mdist_error_t **error"
    if one.name.endswith(("_destroy", "_free")) and not re.match(rf"MDIST_API void {one.name}\(\w+ \*\w+\)$", one.text):
        yield f"{one.where}: {one.name} must take one handle and return nothing"


def main():
    problems = list(check_tags())
    for one in declarations():
        problems += check_shape(one)
        problems += check_name(one)
        problems += check_order(one)
    for path in headers():
        source = path.read_text()
        plain = without_comments(source)
        problems += check_words(path, code(source))
        problems += check_macros(path, plain)
        problems += check_types(path, code(source))
        problems += [
            f"{path.name}:{number}: {len(line)} columns"
            for number, line in enumerate(source.splitlines(), 1)
            if len(line) > COLUMNS
        ]
    umbrella = (FOLDER / "mdist.h").read_text()
    problems += [f"mdist.h lacks {path.name}" for path in headers() if f"<mdist/{path.name}>" not in umbrella
                 and path.name != "mdist.h"]
    return finish(problems, len(declarations()))


sys.exit(main())
