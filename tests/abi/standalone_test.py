# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, even twice, and mdist.h, which includes them all, does so in every version of C and
C++ with every installed compiler. They warn if MDIST_ONE_PER_WORKER is taken as a policy.

What a header lacks does not depend on compiler or version, so each is compiled alone by the first compiler of each
language, in its oldest version; in the long tier by all, in all versions."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from public_headers import FOLDER, finish, headers

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wundef", "-Wshadow"]
COMPILERS = [
    ("gcc", "c", ["c99", "c11", "c17", "c2x"]),
    ("clang", "c", ["c99", "c11", "c17", "c2x"]),
    ("g++", "c++", ["c++98", "c++11", "c++17", "c++20"]),
    ("clang++", "c++", ["c++98", "c++11", "c++17", "c++20"]),
]


def jobs():
    """Yields (compiler, language, version, names of headers)."""
    every = [header.stem for header in headers()]
    languages = set()
    for compiler, language, versions in COMPILERS:
        if shutil.which(compiler):
            for version in versions:
                alone = language not in languages or os.environ.get("MDIST_TEST_TIER") == "long"
                languages.add(language)
                yield compiler, language, version, every if alone else ["mdist"]


def compile_all(compiler, language, version, names):
    """Compiles a source for each header. Returns what the compiler says."""
    with tempfile.TemporaryDirectory() as made:
        for name in names:
            pathlib.Path(made, f"{name}.x").write_text(f"#include <mdist/{name}.h>\n" * 2)
        command = [compiler, f"-std={version}", *WARNINGS, "-fsyntax-only", f"-I{FOLDER.parent}", "-x", language,
                   *(f"{name}.x" for name in names)]
        done = subprocess.run(command, text=True, capture_output=True, check=False, cwd=made)
        return None if done.returncode == 0 else f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def takes_hint_as_policy(compiler, language):
    """MDIST_ONE_PER_WORKER is a number of shards. In the 32 bits of a policy it is no policy, which the library refuses when
    it runs. The compiler must warn, too, without any flags."""
    source = ("#include <mdist/input.h>\n"
              "int32_t policy(mdist_input_options_t *options) { return options->policy = MDIST_ONE_PER_WORKER; }\n")
    done = subprocess.run([compiler, "-fsyntax-only", f"-I{FOLDER.parent}", "-x", language, "-"], input=source, text=True,
                          capture_output=True, check=True)
    return None if "warning" in done.stderr else f"{compiler} takes MDIST_ONE_PER_WORKER as a policy without a warning"


def main():
    todo = list(jobs())
    problems = [problem for job in todo if (problem := compile_all(*job))]
    problems += [problem for compiler, language, _ in COMPILERS
                 if shutil.which(compiler) and (problem := takes_hint_as_policy(compiler, language))]
    return finish(problems, sum(len(names) for *_, names in todo))


sys.exit(main())
