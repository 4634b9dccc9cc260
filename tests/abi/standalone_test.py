# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, even twice, in every version of C and C++, with every installed compiler."""
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from public_headers import FOLDER, finish, headers

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wundef", "-Wshadow"]
COMPILERS = [
    ("gcc", "c", ["c99", "c11", "c17", "c2x"]),
    ("clang", "c", ["c99", "c11", "c17", "c2x"]),
    ("g++", "c++", ["c++98", "c++11", "c++17", "c++20"]),
    ("clang++", "c++", ["c++98", "c++11", "c++17", "c++20"]),
]


def compile_one(job):
    compiler, language, standard, header = job
    source = f"#include <mdist/{header}>\n" * 2
    command = [compiler, f"-std={standard}", *WARNINGS, "-fsyntax-only", f"-I{FOLDER.parent}", "-x", language, "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    return None if done.returncode == 0 else f"{' '.join(command)}  <mdist/{header}>\n{done.stderr}"


def main():
    jobs = [
        (compiler, language, standard, header.name)
        for compiler, language, standards in COMPILERS
        if shutil.which(compiler)
        for standard in standards
        for header in headers()
    ]
    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(compile_one, jobs) if problem]
    return finish(problems, len(jobs))


sys.exit(main())
