# SPDX-License-Identifier: Apache-2.0
"""A program that knows only pkg-config can be built with the installed library, or with libmdist.a, and runs."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SOURCE = pathlib.Path(__file__).with_name("consumer.c")


def run(command, **arguments):
    print("$", shlex.join(map(str, command)), flush=True)
    return subprocess.run(command, check=True, text=True, **arguments)


def printed(command, **arguments):
    return run(command, stdout=subprocess.PIPE, **arguments).stdout


def first_program():
    guide = (pathlib.Path(__file__).resolve().parents[2] / "docs/tutorial/2-first-program.md").read_text()
    return re.search(r"^```c\n(.*?)^```", guide, re.S | re.M).group(1)


def check_static(stage, archive, environment):
    """Links the tutorial's first program with libmdist.a: with the system's shared libraries, and without any."""
    source = stage / "first.c"
    source.write_text(first_program())
    flags = printed(["pkg-config", "--cflags", "--libs", "--static", "mdist"], env=environment).split()
    ways = {"beside-shared": [str(archive) if flag == "-lmdist" else flag for flag in flags]}
    if sys.argv[3] == "libstdc++":  # Debian's libc++ cannot be linked statically with gcc's unwinder
        ways["all-static"] = [*flags, "-static"]
    for name, options in ways.items():
        program = stage / name
        run(["cc", source, "-o", program, *options])
        assert "libmdist" not in printed(["readelf", "--dynamic", program])
        said = printed([program], env=dict(os.environ, MDIST_DEVICES="cpu*4"))
        assert sorted(said.splitlines()) == [f"replica {i} of 4: 10" for i in range(4)], said
    if "all-static" in ways:
        module = archive.with_name("libmdist.so.2")  # any shared library
        asked = dict(os.environ, MDIST_DEVICES="gpu:0", MDIST_CUDA_MODULE=str(module))
        refused = subprocess.run([stage / "all-static"], env=asked, text=True, capture_output=True)
        assert refused.returncode == 1 and "linked with -static" in refused.stderr, refused


def main():
    build = pathlib.Path(sys.argv[1])
    if not shutil.which("meson") or not shutil.which("pkg-config"):
        print("skipped: meson or pkg-config is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as stage:
        run(["meson", "install", "-C", build, "--destdir", stage, "--no-rebuild", "--quiet", "--tags", "devel,runtime"])
        config = next(pathlib.Path(stage).rglob("mdist.pc"))
        library = next(pathlib.Path(stage).rglob("libmdist.so.2"))
        if "prefix=${pcfiledir}" not in config.read_text():
            print(f"{build} was set up before mdist.pc could be moved: meson configure {build} -Dpkgconfig.relocatable=true")
            return 1
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(config.parent))  # it says where things lie beside it
        environment.pop("PKG_CONFIG_PATH", None)
        environment.pop("PKG_CONFIG_SYSROOT_DIR", None)
        flags = printed(["pkg-config", "--cflags", "--libs", "mdist"], env=environment).split()
        print("flags:", flags)
        strange = [flag for flag in flags if flag[:2] not in ("-I", "-L", "-l")]
        if strange or "-lmdist" not in flags:
            print("pkg-config prints more than -I, -L and -l:", strange)
            return 1
        sanitizers = [f"-fsanitize={kind}" for kind in sys.argv[2].split(",") if kind != "none"]
        for compiler, language in (("cc", "c"), ("c++", "c++")):
            if not shutil.which(compiler):
                continue
            program = pathlib.Path(stage) / f"consumer-{language}"
            run([compiler, "-x", language, SOURCE, "-o", program, "-Wall", "-Wextra", "-Werror", *sanitizers, "-x", "none",
                 *flags])
            run([program], env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
        if not sanitizers:  # sanitizers need shared libraries
            check_static(pathlib.Path(stage), library.with_name("libmdist.a"), environment)
    return 0


sys.exit(main())
