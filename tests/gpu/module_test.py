# SPDX-License-Identifier: Apache-2.0
"""The library knows nothing of CUDA, the GPU module needs nothing that a machine with a driver might lack, and has code
for the architectures it was built for. The module calls nothing that waits for a whole GPU, or that would spoil what
another thread records.

module_test.py LIBRARY MODULE|none SANITIZER ARCHITECTURES COMPILER...
"""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = r"lib(stdc\+\+|gcc_s|c|m|asan|ubsan|tsan)\.so\.\d+|ld-linux.*"
# cuda_fatbinary: a header (magic, version, size of it, size of all), then entries (kind, version, size of the entry's
# header, size of its code; the architecture stands 28 bytes behind its beginning).
FATBIN_MAGIC = struct.pack("<I", 0xBA55ED50)
KINDS = {1: "compute", 2: "sm"}
# They wait without a deadline, spoil every recording on the device (those on the legacy stream, too), or change what
# belongs to the program.
FORBIDDEN = (r"\b(cuda(Device|Stream|Event|Thread)Synchronize|cuda(Memcpy|Memset)(?!Async|Default|Kind)\w*\(|cudaSetDevice\w*|"
             r"cudaDeviceReset|cudaDeviceSetLimit|cuCtx(Synchronize|SetCurrent|Create)|cuMemcpy\w*|cudaStreamLegacy|<<<)")


def output(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path))


def code_in(path):
    """sm_90, compute_90, ... for each of the binaries and texts in it."""
    data, found, at = pathlib.Path(path).read_bytes(), {}, 0
    while (at := data.find(FATBIN_MAGIC, at)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, at)
        entry, end = at + header, at + header + size
        names = []
        while entry < end:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", data, entry)
            names.append(f"{KINDS.get(kind, kind)}_{struct.unpack_from('<I', data, entry + 28)[0]}")
            entry += entry_header + entry_size
        found[at] = names
        at = end
    return list(found.values())


def headers_compile(compiler):
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".c", ".cpp"):
            source = pathlib.Path(folder, "header" + suffix)
            source.write_text('#include "device/gpu/module.h"\n'
                              "#if __has_include(<nccl.h>)\n#include <nccl.h>\n#endif\n"
                              "int main(void) { return sizeof(mdist_gpu_api) == 0; }\n")
            result = subprocess.run(
                [*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}/lib", f"-I{ROOT}/include",
                 "-isystem", "/usr/local/cuda/include", source], text=True, capture_output=True)
            if result.returncode:
                yield f"module.h or nccl.h does not compile as {suffix[1:]}: {result.stderr}"


def module_problems(module, architectures, sanitizer):
    yield from (f"{module} needs {name}" for name in needed(module) if not re.fullmatch(NEEDED, name))
    symbols = [line.split()[-1] for line in output("nm", "-D", "--defined-only", module).splitlines()]
    if [name for name in symbols if not (sanitizer != "none" and name.startswith("__"))] != ["mdist_gpu_module"]:
        yield f"{module} exports {symbols}"
    if "NODELETE" not in output("readelf", "-d", module):
        yield f"{module} may be unloaded"
    wanted = sorted([f"sm_{one}" for one in architectures] + [f"compute_{architectures[-1]}"])
    code = code_in(module)
    if not code:
        yield f"{module} has no code for GPUs"
    yield from (f"{module} has code for {names}, not {wanted}" for names in code if sorted(names) != wanted)


def source_problems():
    for path in sorted((ROOT / "lib/cuda").glob("*.c*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := re.search(FORBIDDEN, line.split("//")[0]):
                yield f"{path}:{number} calls {found.group()}"


def main():
    library, module, sanitizer, architectures, *compiler = sys.argv[1:]
    problems = [f"{library} needs {name}" for name in needed(library) if re.match("lib(cuda|cudart|nccl)", name)]
    problems += headers_compile(compiler)
    problems += source_problems()
    if module != "none":
        problems += module_problems(module, architectures.split(","), sanitizer)
    for problem in problems:
        print(problem)
    print("library" if module == "none" else "library and module", "checked,", len(problems), "wrong")
    return 1 if problems else 0


sys.exit(main())
