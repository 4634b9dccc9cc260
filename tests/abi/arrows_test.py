# SPDX-License-Identifier: Apache-2.0
"""Checks #include lines: each layer of the library includes only layers below it, units and folders do not include each
other in a circle, and each third-party library is included in one place only."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"

MIDDLE = {"util", "reduce", "device"}
SEES = {
    "util": {"util"},
    "reduce": {"util", "reduce"},
    "device": {"util", "reduce", "device"},
    "cuda": {"device", "cuda"},
    "membership": {"util", "membership"},
    "comm": MIDDLE | {"membership", "comm"},
    "data": MIDDLE | {"data"},
    "cluster": MIDDLE | {"cluster"},
    "strategy": MIDDLE | {"membership", "comm", "data", "cluster", "strategy"},
    "checkpoint": MIDDLE | {"comm", "data", "strategy", "checkpoint"},
    "api": MIDDLE | {"membership", "comm", "data", "cluster", "strategy", "checkpoint", "api"},
}

# The parts of strategy/ that other folders may include, and the parts that each folder may include. Only the api may
# include the strategy itself.
PARTS = {
    "strategy/job": {"job"},
    "strategy/values": {"job", "values"},
    "strategy/variables": {"job", "values", "variables"},
    "strategy/gradients": {"job", "values", "gradients"},
    "strategy/input": {"job", "input"},
    "strategy/steps": {"job", "values", "variables", "steps"},
    "strategy/elastic": {"job", "values", "variables", "steps", "elastic"},
    "strategy/serve": {"job", "values", "variables", "steps", "serve"},
    "checkpoint": {"job", "variables"},
}

# Prefixes of third-party headers, and the files that may include them.
THIRD_PARTY = {
    "yaml.h": r"lib/util/yaml\.cpp",
    "sodium.h": r"lib/membership/protocol/secret\.cpp",
    "cuda": r"lib/cuda/\w+\.(cpp|h|cu)|tests/gpu/.*|examples/math/.*",
    "nccl": r"lib/cuda/\w+\.(cpp|h)",
    "gloo/": r"tests/bench/peers/gloo\.cpp",
    "mpi.h": r"tests/bench/peers/(mpi|collectives_mpi|ping_pong)\.c",
    "cblas": r"(examples|tests)/.*",
    "cublas": r"examples/math/.*",
    "zlib.h": r"(examples|tests)/.*|lib/checkpoint/checksum\.cpp|lib/data/files/(un)?pack\.cpp",
    "CLI/": r"src/.*",
    "nlohmann/": r"src/.*|lib/util/json\.cpp|tests/golden/.*",
    "cmocka.h": r"tests/.*",
    "dlpack/": r"tests/api/dlpack_\w+\.h",
}
SYSTEM_HEADERS = re.compile(
    r"(sys|netinet|arpa|net|linux|asm)/[\w/]+\.h|"
    r"(std(arg|atomic|def|int|io|lib|bool|align)|string|strings|errno|fcntl|unistd|pthread|poll|signal|time|math|limits|sched|"
    r"dirent|dlfcn|glob|cxxabi|malloc|emmintrin|xmmintrin|immintrin|x86intrin|cpuid|arm_neon|arm_sve|float|fenv|ctype|inttypes|assert|setjmp|"
    r"locale|semaphore|spawn|netdb|getopt|termios|ifaddrs|syslog|endian|elf|link|execinfo|ucontext|unwind)\.h|[a-z_]+"
)


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line)
        if found:
            yield number, found[1], found[2]


def check_lib(path, name, quoted, header):
    layer = path.relative_to(LIB).parts[0]
    if quoted:
        folder = header.split("/")[0]
        if folder not in SEES or not (LIB / header).is_file():
            return f'"{header}" is not a path from lib/'
        if folder not in SEES[layer]:
            return f"{layer} must not include {folder}"
        seen = PARTS.get(path.parent.relative_to(LIB).as_posix())
        if seen and folder == "strategy" and (header.count("/") == 1 or header.split("/")[1] not in seen):
            return f"{path.parent.name} must not include {header}"
    return None


def check_third_party(name, header):
    for start, allowed in THIRD_PARTY.items():
        if header.startswith(start):
            return None if re.fullmatch(allowed, name) else f"only {allowed} may include <{header}>"
    if header.startswith("mdist/") or SYSTEM_HEADERS.fullmatch(header):
        return None
    return f"<{header}> is not a header of a known library"


def check(path):
    name = path.relative_to(ROOT).as_posix()
    for number, mark, header in includes(path):
        quoted = mark == '"'
        problem = None
        if name.startswith("lib/"):
            problem = check_lib(path, name, quoted, header)
        elif quoted and name.startswith(("src/", "examples/")):
            if header == "_cgo_export.h" and name.startswith("src/go/"):
                continue  # cgo generates it
            near = path.parent / header
            top = ROOT / ("src/tool" if name.startswith("src/tool/") else name.split("/")[0])
            if not (near.is_file() and near.resolve().is_relative_to(top)) and not (top / header).is_file():
                problem = f'"{header}" is not a file of {top.name}/. From the library, include only <mdist/...>'
        if not problem and not quoted:
            problem = check_third_party(name, header)
        if problem:
            yield f"{name}:{number}: {problem}"


def check_names():
    """Finds classes with the same name in one namespace. The linker would silently merge them."""
    for root in ("lib", "src"):
        places = {}
        for path in sorted((ROOT / root).rglob("*.h")):
            text = re.sub(r"//[^\n]*", "", path.read_text())
            space = re.search(r"^namespace ([\w:]+) \{", text, re.M)
            for name in re.findall(r"^(?:class|struct|union)\s+(\w+)(?:\s+final)?\s*(?::[^;{:]*)?\{", text, re.M):
                first = places.setdefault((space and space[1], name), path)
                if first != path:
                    yield f"{path.relative_to(ROOT)}: {name} is also a class of {first.relative_to(ROOT)}"


def circles(sees):
    """Returns the sets of two or more nodes that reach each other (Tarjan's algorithm)."""
    numbers, lowest, path, found = {}, {}, [], []

    def visit(node):
        numbers[node] = lowest[node] = len(numbers)
        path.append(node)
        for other in sorted(sees[node]):
            if other not in numbers:
                visit(other)
            if other in path:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == numbers[node]:
            circle = path[path.index(node):]
            del path[path.index(node):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(sees):
        if node not in numbers:
            visit(node)
    return found


def check_circles():
    """Finds circles of includes, between units and between folders. A header and its source are one unit."""
    units = {}
    for path in LIB.rglob("*"):
        if path.suffix in (".h", ".cpp"):
            unit = path.relative_to(LIB).with_suffix("").as_posix()
            seen = {header.rsplit(".", 1)[0] for _, mark, header in includes(path) if mark == '"'}
            units.setdefault(unit, set()).update(seen - {unit})
    units = {unit: seen & units.keys() for unit, seen in units.items()}
    folders = {}
    for unit, seen in units.items():
        folder = unit.rpartition("/")[0]
        folders.setdefault(folder, set()).update({other.rpartition("/")[0] for other in seen} - {folder})
    for what, graph in (("units", units), ("folders", folders)):
        for circle in circles(graph):
            yield f"lib/: these {what} include each other in a circle: {', '.join(circle)}"


def main():
    files = [path for folder in ("lib", "src", "examples", "include", "tests") for path in (ROOT / folder).rglob("*")
             if path.suffix in (".h", ".c", ".cpp", ".cu")]
    problems = [problem for path in files for problem in check(path)]
    problems += list(check_names()) + list(check_circles())
    for problem in problems:
        print(problem)
    print(f"{len(files)} files checked, {len(problems)} wrong")
    return 1 if problems or not files else 0


sys.exit(main())
