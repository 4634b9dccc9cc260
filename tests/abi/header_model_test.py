# SPDX-License-Identifier: Apache-2.0
"""A C compiler agrees with header_model about the public headers: types, fields and numbers. Nothing is missing."""
import subprocess
import sys
import tempfile

from header_model import TAGS, read
from public_headers import ROOT, declarations, struct_types

model = read()


def typed(name, one):
    """Returns a C declaration of a pointer to such a function."""
    return f"{one.result} (*{name})({', '.join(parameter.type for parameter in one.parameters) or 'void'})"


def same(left, right, what):
    return f'_Static_assert(__builtin_types_compatible_p(__typeof__({left}), __typeof__({right})), "{what}");'


def lines():
    yield from (f"#include <{header}>" for header in ("stddef.h", "mdist/mdist.h"))
    for one in [*model.functions.values(), *model.function_types.values()]:
        yield f"typedef {typed(one.name + '_as_read', one)};"
    for name in model.functions:
        yield same(f"&{name}", f"{name}_as_read", name)
    for name in model.function_types:
        yield same(name, f"{name}_as_read", name)
    for struct in model.structs.values():
        yield "typedef struct {"
        yield from (f"    {one.type} {one.name}{f'[{one.length}]' if one.length else ''};" for one in struct.fields)
        yield f"}} {struct.name}_as_read;"
        yield f'_Static_assert(sizeof({struct.name}) == sizeof({struct.name}_as_read), "{struct.name}");'
        for one in struct.fields:
            yield same(f"(({struct.name} *)0)->{one.name}", f"(({struct.name}_as_read *)0)->{one.name}", one.name)
            yield (f"_Static_assert(offsetof({struct.name}, {one.name}) == offsetof({struct.name}_as_read, {one.name}), "
                   f'"{struct.name}.{one.name}");')
    for enum in model.enums.values():
        yield from (f'_Static_assert({name} == {value}, "{name}");' for name, value in enum.members.items())
    yield from (f'_Static_assert({name} == {value}, "{name}");' for name, value in model.macros.items())
    yield from (f"void {name}_is_a_type(const {name} *handle);" for name in model.handles)
    yield from (f"void takes_{name.split()[1]}(const {name} *handle);" for name in model.foreign)


assert list(model.functions) == [one.name for one in declarations()]
assert set(model.structs) | set(model.handles) == struct_types()
assert all(set(one.tags) == set(TAGS) and all(one.tags.values()) for one in model.functions.values())
with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
    source.write("\n".join(lines()) + "\n")
    source.flush()
    command = [*(sys.argv[1:] or ["cc"]), "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", "-I", ROOT / "include"]
    subprocess.run([*command, source.name], check=True)
print(f"{len(model.functions)} functions, {len(model.structs)} structs, {len(model.enums)} enums as the compiler sees them")
