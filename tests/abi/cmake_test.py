# SPDX-License-Identifier: Apache-2.0
"""A CMake project finds the installed library, also when it was moved, and its programs run: shared and static."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SOURCE = pathlib.Path(__file__).with_name("consumer.c")
PROJECT = f"""\
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
find_package(mdist ${{WANTED}} REQUIRED COMPONENTS ${{PARTS}} OPTIONAL_COMPONENTS tool cuda)
message(STATUS "found mdist ${{mdist_VERSION}}; cuda: ${{mdist_cuda_FOUND}}; tool: ${{mdist_tool_FOUND}}")
add_executable(with_shared "{SOURCE}")
target_link_libraries(with_shared PRIVATE mdist::mdist)
if(TARGET mdist::static AND NOT SHARED_ALONE)
  add_executable(with_static "{SOURCE}")
  target_link_libraries(with_static PRIVATE mdist::static)
endif()
"""


def run(*command, fails=False, **environment):
    print("$", *command, flush=True)
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, **environment))
    print(done.stdout, flush=True)
    assert (done.returncode != 0) == fails, done.returncode
    return done.stdout


def main():
    build, sanitized = sys.argv[1], sys.argv[2] != "none"
    if not shutil.which("cmake"):
        print("skipped: cmake is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        stage, moved, project, made = (pathlib.Path(folder) / name for name in ("stage", "moved here", "project", "made"))
        run("meson", "install", "-C", build, "--destdir", str(stage), "--no-rebuild", "--quiet", "--tags", "devel,runtime")
        next(stage.rglob("include/mdist/mdist.h")).parents[2].rename(moved)
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT)

        def configure(wanted, parts, **arguments):
            shutil.rmtree(made, ignore_errors=True)
            return run("cmake", "-S", project, "-B", made, f"-DCMAKE_PREFIX_PATH={moved}", f"-DWANTED={wanted}",
                       f"-DPARTS={parts}", f"-DSHARED_ALONE={int(sanitized)}", **arguments)

        assert "found mdist 0." in configure("0.3", "shared;static")
        run("cmake", "--build", made)
        for program in ["with_shared"] + ([] if sanitized else ["with_static"]):
            assert "no.such.key" in run(made / program)
        assert "0.2" in configure("0.2", "shared", fails=True)
        assert "fabric" in configure("0.3", "fabric", fails=True)
    return 0


sys.exit(main())
