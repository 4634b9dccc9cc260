# SPDX-License-Identifier: Apache-2.0
"""What the Julia module says of C is what the public headers say: every call's name, number and types of arguments and
result, every struct's fields, every enum's members. Then the same with mistakes put in, each of which must be found."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "abi"))

from header_model import parameter, read, spelled  # noqa: E402
from julia_source import Source  # noqa: E402
from public_headers import ROOT, finish  # noqa: E402

FOLDER = ROOT / "src" / "julia"
SCALARS = {
    "int32_t": {"Int32", "Cint"},
    "uint32_t": {"UInt32", "Cuint"},
    "int64_t": {"Int64"},
    "uint64_t": {"UInt64"},
    "size_t": {"Csize_t"},
    "int8_t": {"Int8"},
    "int": {"Cint"},
    "float": {"Cfloat"},
    "double": {"Cdouble"},
    "char": {"UInt8"},
    "void": {"Cvoid"},
}
# Functions of other libraries that the module and its examples call, as their own headers have them.
OTHERS = [
    "int8_t jl_gc_safe_enter()",
    "void jl_gc_safe_leave(int8_t state)",
    "int8_t jl_gc_unsafe_enter()",
    "void jl_gc_unsafe_leave(int8_t state)",
    "void jl_enter_threaded_region()",
    "void jl_exit_threaded_region()",
    "void jl_set_task_tid(void *task, int thread)",  # from Julia 1.7 on it also says whether it could
    "size_t pthread_self()",
    "float expf(float x)",
    "float logf(float x)",
    "void openblas_set_num_threads(int num_threads)",
    "void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda, "
    "const float *b, int ldb, float beta, float *c, int ldc)",
]
model = read()


def other(text):
    found = re.fullmatch(r"(\w+) (\w+)\((.*)\)", text)
    return found[2], (spelled(found[1]), [parameter(part).type for part in found[3].split(", ") if part])


others = dict(other(text) for text in OTHERS)


def spellings(c_type):
    """How Julia may write a C type."""
    plain = " ".join(spelled(c_type.replace("const", " ")).split())
    if plain in SCALARS:
        return SCALARS[plain]
    if plain in model.enums:
        return SCALARS["int32_t"]
    if plain in model.function_types:
        return {"Ptr{Cvoid}"}
    if plain in model.structs or plain in model.handles:
        return {plain}
    if not plain.endswith("*"):
        return set()
    target = plain[:-1].strip()
    pointers = {f"Ptr{{{name}}}" for name in spellings(target)}
    if target == "char":
        return pointers | ({"Cstring"} if "const" in c_type else set())
    if target in model.handles or target == "void":
        return pointers  # a Ref would be the address of something of Julia's
    return pointers | {f"Ref{{{name}}}" for name in spellings(target)}


class Check:
    def __init__(self, sources):
        self.sources = sources
        self.problems, self.counts, self.called = [], {"calls": 0, "structs": 0, "handles": 0, "constants": 0}, set()
        self.aliases = [alias for source in sources for alias in source.aliases()]
        for source in sources:
            self.check_calls(source)
            self.check_types(source)
            self.check_constants(source)
            self.problems += source.problems

    def resolved(self, julia_type):
        for name, meaning in self.aliases:
            julia_type = re.sub(
                rf"\b{name}\{{(\w+)\}}", lambda found: meaning.replace("{T}", f"{{{found[1]}}}"), julia_type)
        return julia_type

    def compare(self, where, what, julia_type, c_type):
        if self.resolved(julia_type) not in spellings(c_type):
            self.problems.append(f"{where}: {what} is {julia_type or 'without a type'}; the header says {c_type}")

    def declared(self, call):
        """(result, parameter types), or None for what nobody declares."""
        if call.library == "libmdist":
            function = model.functions.get(call.name)
            self.called.add(call.name)
            return function and (function.result, [one.type for one in function.parameters])
        return others.get(call.name)

    def check_calls(self, source):
        for call in source.calls():
            self.counts["calls"] += 1
            known = self.declared(call)
            if known is None:
                self.problems.append(f"{call.where}: {call.library}.{call.name} is declared nowhere")
                continue
            result, parameters = known
            if len(call.arguments) != len(parameters):
                self.problems.append(
                    f"{call.where}: {call.name} takes {len(parameters)} arguments, not {len(call.arguments)}")
                continue
            for i, (julia_type, c_type) in enumerate(zip(call.arguments, parameters)):
                self.compare(call.where, f"argument {i + 1} of {call.name}", julia_type, c_type)
            self.compare(call.where, f"the result of {call.name}", call.result, result)
        for position, library, name in source.symbols():
            self.counts["calls"] += 1
            self.called.add(name)
            if library != "libmdist" or name not in model.functions:
                self.problems.append(f"{source.where(position)}: {library}.{name} is declared nowhere")

    def check_types(self, source):
        for position, name in source.handles():
            self.counts["handles"] += 1
            if name not in model.handles:
                self.problems.append(f"{source.where(position)}: {name} is no handle")
        for position, name, fields in source.structs():
            self.counts["structs"] += 1
            where = source.where(position)
            if name not in model.structs:
                self.problems.append(f"{where}: {name} is no struct of the headers")
                continue
            wanted = model.structs[name].fields
            if [field for field, _ in fields] != [field.name for field in wanted]:
                self.problems.append(f"{where}: {name} has other fields, or in another order")
                continue
            for (field, julia_type), c in zip(fields, wanted):
                array = re.fullmatch(r"NTuple\{(\d+),(\w+)\}", julia_type)
                if int(array[1] if array else 0) != c.length:
                    self.problems.append(f"{where}: {name}.{field} has another length than {c.length}")
                self.compare(where, f"{name}.{field}", array[2] if array else julia_type, c.type)

    def check_constants(self, source):
        for position, name, integer, members in source.enums():
            self.counts["constants"] += len(members)
            named = {f"MDIST_{member}": number for member, number in members.items()}
            if integer != "Int32" or named not in [enum.members for enum in model.enums.values()]:
                self.problems.append(f"{source.where(position)}: {name} is not the header's enum, in full")
        for position, name, number in source.numbers():
            self.counts["constants"] += 1
            if model.macros.get(f"MDIST_{name}") != number:
                self.problems.append(f"{source.where(position)}: MDIST_{name} is not {number}")


def texts():
    return {str(path.relative_to(FOLDER)): path.read_text() for path in sorted(FOLDER.rglob("*.jl"))}


def check(files):
    return Check([Source(name, text) for name, text in files.items()])


# (file, what stands there, the mistake)
MISTAKES = [
    ("src/config.jl", "libmdist.mdist_config_create(", "libmdist.mdist_config_make("),
    ("src/config.jl", "key::Cstring, text::Cstring, error", "key::Cstring, error"),
    ("src/config.jl", "capacity::Csize_t", "capacity::Cint"),
    ("src/config.jl", "capacity::Csize_t", "capacity"),
    ("src/config.jl", "text::Ptr{UInt8}", "text::Cstring"),
    ("src/config.jl", "yaml_path::Cstring,", "#= yaml_path::Cstring, =#"),
    ("src/error.jl", "(error::Ptr{mdist_error_t})::Int64", "(error::Ptr{mdist_error_t})::Int32"),
    ("src/error.jl", "(error::Ptr{mdist_error_t})::Int64", "(error::Ptr{mdist_error_t})"),
    ("src/strategy.jl", "local_replica::UInt32", "local_replica::Int32"),
    ("src/strategy.jl", "out::Out{mdist_strategy_t}", "out::Out{mdist_config_t}"),
    ("src/variable.jl", "value::Ptr{mdist_value_t}", "value::Ref{mdist_value_t}"),
    ("src/dataset.jl", "seed::UInt64", "seed::UInt32"),
    ("src/collective.jl", "what::Ref{mdist_collective_description_t}", "what::Ref{mdist_buffer_t}"),
    ("src/collective.jl", "limits::Ref{mdist_call_options_t}, error", "error::Out{mdist_error_t}, limits"),
    ("src/work.jl", "done::Ref{Int32}", "done::Ref{Int64}"),
    ("src/memory.jl", "cglobal((:mdist_free, libmdist))", "cglobal((:mdist_freed, libmdist))"),
    ("src/memory.jl", "cglobal((:mdist_free, libmdist))", "cglobal(:mdist_free)"),
    ("src/memory.jl", "@ccall libmdist.mdist_free(", "@ccall $pointer("),
    ("src/memory.jl", "@ccall libmdist.mdist_free(", "ccall((:mdist_free, libmdist), Cvoid, (Ptr{Cvoid},)"),
    ("src/checkpoint.jl", "keep::UInt32", "keep::UInt64"),
    ("src/loss.jl", "loss::Ref{Cdouble}", "loss::Ref{Cfloat}"),
    ("src/structure.jl", "texts::Ptr{Ptr{UInt8}}", "texts::Ptr{UInt8}"),
    ("src/gc_safe.jl", "jl_gc_safe_leave(state::Int8)", "jl_gc_safe_leave(state::Int32)"),
    ("src/library.jl", "    elements::UInt64\n    dtype::Int32\n", "    dtype::Int32\n    elements::UInt64\n"),
    ("src/library.jl", "    rank::Int32\n", "    rank::Int64\n"),
    ("src/library.jl", "    rank::Int32\n", ""),
    ("src/library.jl", "NTuple{8,UInt64}", "NTuple{7,UInt64}"),
    ("src/library.jl", "NTuple{8,UInt64}", "UInt64"),
    ("src/library.jl", "ERR_TIMEOUT = -13", "ERR_TIMEOUT = -31"),
    ("src/library.jl", "    MAX = 4\n", ""),
    ("src/library.jl", "DType::Int32", "DType::Int16"),
    ("src/library.jl", "MAX_RANK = 8", "MAX_RANK = 6"),
    ("src/library.jl", "mutable struct mdist_work_t end", "mutable struct mdist_works_t end"),
    ("src/library.jl", "mutable struct mdist_work_t end", "mutable struct mdist_work_t\n    i::Int\nend"),
    ("src/library.jl", "Out{T} = Ref{Ptr{T}}", "Out{T} = Ref{T}"),
]


def unnoticed():
    """The mistakes that the check does not find, or that could not be made."""
    for file, right, wrong in MISTAKES:
        files = texts()
        if right not in files.get(file, ""):
            yield f"{file}: there is no {right!r} to put a mistake into"
            continue
        files[file] = files[file].replace(right, wrong, 1)
        if not check(files).problems:
            yield f"{file}: nobody noticed {wrong!r} instead of {right!r}"


def not_bound(called):
    """README.md lists the functions that the module does not call: exactly these. A header's name stands for all of its."""
    readme = (FOLDER / "README.md").read_text()
    section = re.search(r"^## Not bound yet$(.*?)(?=^## |\Z)", readme, flags=re.M | re.S)
    named = set(re.findall(r"`(mdist_\w+)`", section[1] if section else ""))
    headers = set(re.findall(r"`(\w+\.h)`", section[1] if section else ""))
    named |= {name for name, one in model.functions.items() if pathlib.Path(one.where.partition(":")[0]).name in headers}
    missing = set(model.functions) - called
    yield from (f"README.md: {name} is not bound, and not named as such" for name in sorted(missing - named))
    yield from (f"README.md: {name} is named as not bound, and is" for name in sorted(named - missing))


found = check(texts())
problems = [*found.problems, *unnoticed(), *not_bound(found.called)]
print(", ".join(f"{count} {what}" for what, count in found.counts.items()), f"and {len(MISTAKES)} mistakes to find")
sys.exit(finish(problems, sum(found.counts.values())))
