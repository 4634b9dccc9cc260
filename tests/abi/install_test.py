# SPDX-License-Identifier: Apache-2.0
"""An installed library can be found, compiled against and run by a program that knows pkg-config alone."""
import os
import pathlib
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


def main():
    build = pathlib.Path(sys.argv[1])
    if not shutil.which("meson") or not shutil.which("pkg-config"):
        print("meson or pkg-config is not here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as stage:
        run(["meson", "install", "-C", build, "--destdir", stage, "--no-rebuild", "--quiet", "--tags", "devel,runtime"])
        config = next(pathlib.Path(stage).rglob("mdist.pc"))
        library = next(pathlib.Path(stage).rglob("libmdist.so.0"))
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(config.parent), PKG_CONFIG_SYSROOT_DIR=stage)
        environment.pop("PKG_CONFIG_PATH", None)
        flags = run(["pkg-config", "--cflags", "--libs", "mdist"], env=environment, stdout=subprocess.PIPE).stdout.split()
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
    return 0


sys.exit(main())
