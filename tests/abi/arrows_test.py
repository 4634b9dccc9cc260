# SPDX-License-Identifier: Apache-2.0
"""Layers of the library see only those below them, and each third-party library is known to one place."""
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
    "comm": MIDDLE | {"comm"},
    "data": MIDDLE | {"data"},
    "cluster": MIDDLE | {"cluster"},
    "strategy": MIDDLE | {"comm", "data", "cluster", "strategy"},
    "checkpoint": MIDDLE | {"comm", "data", "strategy", "checkpoint"},
    "api": MIDDLE | {"comm", "data", "cluster", "strategy", "checkpoint", "api"},
}

# Headers of other projects, by how they begin, and the files that may include them.
THIRD_PARTY = {
    "yaml.h": r"lib/util/yaml\.cpp",
    "sodium.h": r"lib/comm/membership/secret\.cpp",
    "cuda": r"lib/cuda/\w+\.(cpp|h|cu)|tests/gpu/.*|examples/math/.*",
    "nccl": r"lib/cuda/\w+\.(cpp|h)",
    "gloo/": r"lib/comm/links/gloo\w*\.(cpp|h)|tests/bench/peers/gloo\.cpp",
    "mpi.h": r"tests/bench/peers/mpi\.c",
    "cblas": r"(examples|tests)/.*",
    "cublas": r"examples/math/.*",
    "zlib.h": r"(examples|tests)/.*|lib/checkpoint/checksum\.cpp|lib/data/files/(un)?pack\.cpp",
    "CLI/": r"src/.*",
    "nlohmann/": r"src/.*|lib/util/json\.cpp",
    "cmocka.h": r"tests/.*",
    "dlpack/": r"tests/api/dlpack_\w+\.h",
}
SYSTEM_HEADERS = re.compile(
    r"(sys|netinet|arpa|net|linux|asm)/[\w/]+\.h|"
    r"(std(arg|atomic|def|int|io|lib|bool|align)|string|strings|errno|fcntl|unistd|pthread|poll|signal|time|math|limits|sched|"
    r"dirent|dlfcn|glob|cxxabi|malloc|xmmintrin|immintrin|x86intrin|cpuid|arm_neon|arm_sve|float|fenv|ctype|inttypes|assert|setjmp|"
    r"locale|semaphore|spawn|netdb|getopt|termios|ifaddrs|syslog|endian|elf|link|execinfo|ucontext)\.h|[a-z_]+"
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
            return f"{layer} must not see {folder}"
    return None


def check_third_party(name, header):
    for start, allowed in THIRD_PARTY.items():
        if header.startswith(start):
            return None if re.fullmatch(allowed, name) else f"<{header}> is for {allowed} alone"
    if header.startswith("mdist/") or SYSTEM_HEADERS.fullmatch(header):
        return None
    return f"<{header}> belongs to no library that this project knows"


def check(path):
    name = path.relative_to(ROOT).as_posix()
    for number, mark, header in includes(path):
        quoted = mark == '"'
        problem = None
        if name.startswith("lib/"):
            problem = check_lib(path, name, quoted, header)
        elif quoted and name.startswith(("src/", "examples/")):
            if header == "_cgo_export.h" and name.startswith("examples/ffi/go/"):
                continue  # cgo makes it
            near = path.parent / header
            top = ROOT / name.split("/")[0]
            if not (near.is_file() and near.resolve().is_relative_to(top)) and not (top / header).is_file():
                problem = f'"{header}" is not a file of {top.name}/: of the library, include <mdist/...> alone'
        if not problem and not quoted:
            problem = check_third_party(name, header)
        if problem:
            yield f"{name}:{number}: {problem}"


def check_names():
    """Two classes of one name in one namespace are one to the linker, whichever comes first."""
    for root in ("lib", "src"):
        places = {}
        for path in sorted((ROOT / root).rglob("*.h")):
            text = re.sub(r"//[^\n]*", "", path.read_text())
            space = re.search(r"^namespace ([\w:]+) \{", text, re.M)
            for name in re.findall(r"^(?:class|struct|union)\s+(\w+)(?:\s+final)?\s*(?::[^;{:]*)?\{", text, re.M):
                first = places.setdefault((space and space[1], name), path)
                if first != path:
                    yield f"{path.relative_to(ROOT)}: {name} is a class of {first.relative_to(ROOT)}, too"


def main():
    files = [path for folder in ("lib", "src", "examples", "include", "tests") for path in (ROOT / folder).rglob("*")
             if path.suffix in (".h", ".c", ".cpp", ".cu")]
    problems = [problem for path in files for problem in check(path)] + list(check_names())
    for problem in problems:
        print(problem)
    print(f"{len(files)} files checked, {len(problems)} wrong")
    return 1 if problems or not files else 0


sys.exit(main())
